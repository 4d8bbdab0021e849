// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// This host as it would introduce itself to others on the fabric: its name and its processors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ib::sys {

/// The host name, with the NIS domain behind a dot where one is set. Never empty.
std::string host_name();

struct Cpu {
  std::string model;  ///< "AMD EPYC"; empty where the kernel does not say
  std::string mhz;    ///< "2596.120"; likewise
};

/// The processors that the text of /proc/cpuinfo lists, no more than 4096.
std::vector<Cpu> parse_cpus(std::string_view cpuinfo);
/// Those of this host; none where /proc/cpuinfo cannot be read.
std::vector<Cpu> cpus();

}  // namespace ib::sys
