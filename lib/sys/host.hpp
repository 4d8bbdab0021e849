// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The identity of this host for other hosts on the fabric: its name and its processors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ib::sys {

/// The host name, followed by a dot and the NIS domain if one is set. Never empty.
std::string host_name();

/// One processor.
struct Cpu {
  std::string model;  ///< "AMD EPYC"; empty if the kernel does not give it
  std::string mhz;    ///< "2596.120"; empty if the kernel does not give it
};

/// The processors in the text of /proc/cpuinfo, at most 4096.
std::vector<Cpu> parse_cpus(std::string_view cpuinfo);
/// The processors of this host. Empty if /proc/cpuinfo cannot be read.
std::vector<Cpu> cpus();

}  // namespace ib::sys
