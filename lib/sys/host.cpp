// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"

namespace ib::sys {

namespace {

constexpr std::size_t longest_cpuinfo = std::size_t{8} << 20;  // bytes
constexpr std::size_t most_cpus = 4096;

}  // namespace

std::string host_name() {
  std::array<char, 256> text{};  // both calls may leave out the final NUL
  std::string name = ::gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "";
  if (name.empty()) name = "localhost";
  text.fill('\0');
  const std::string domain = ::getdomainname(text.data(), text.size() - 1) == 0 ? text.data() : "";
  if (!domain.empty() && domain != "(none)") name += '.' + domain;  // Linux writes (none) for an unset domain
  return name;
}

std::vector<Cpu> parse_cpus(std::string_view cpuinfo) {
  std::vector<Cpu> cpus;
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(line.size() + 1, cpuinfo.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (key == "processor") {
      if (cpus.size() == most_cpus) break;
      cpus.emplace_back();
    } else if (!cpus.empty() && key == "model name") {
      cpus.back().model = value;
    } else if (!cpus.empty() && key == "cpu MHz") {
      cpus.back().mhz = value;
    }
  }
  return cpus;
}

std::vector<Cpu> cpus() {
  try {
    return parse_cpus(read_regular_file("/proc/cpuinfo", longest_cpuinfo));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace ib::sys
