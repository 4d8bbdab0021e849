// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The identity of this host for other hosts on the fabric: its name and its processors.
#pragma once

#include <string>
#include <string_view>

namespace ib::sys {

/// The host name, followed by a dot and the NIS domain if one is set. Never empty.
std::string host_name();

/// The processors in the text of /proc/cpuinfo, at most 4096, one line each: "cpu 0: model AMD EPYC MHZ 2596.120". What the kernel does not
/// give is empty.
std::string cpu_text(std::string_view cpuinfo);
/// The processors of this host. Empty if /proc/cpuinfo cannot be read.
std::string cpu_text();

}  // namespace ib::sys
