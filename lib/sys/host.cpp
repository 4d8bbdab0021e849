// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/host.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"

namespace ib::sys {

std::string host_name() {
  std::array<char, 256> text{};  // both calls may leave out the final NUL
  std::string name = ::gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "";
  if (name.empty()) name = "localhost";
  text.fill('\0');
  const std::string domain = ::getdomainname(text.data(), text.size() - 1) == 0 ? text.data() : "";
  if (!domain.empty() && domain != "(none)") name += '.' + domain;  // Linux writes (none) for an unset domain
  return name;
}

std::string cpu_text(std::string_view cpuinfo) {
  constexpr std::size_t most_cpus = 4096;
  struct Cpu {
    std::string_view model, mhz;
  };
  std::vector<Cpu> cpus;
  for (const std::string_view line : split(cpuinfo, "\n")) {
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
  std::string text;
  for (std::size_t i = 0; i < cpus.size(); ++i) text += fmt::format("cpu {}: model {} MHZ {}\n", i, cpus[i].model, cpus[i].mhz);
  return text;
}

std::string cpu_text() {
  constexpr std::size_t longest_cpuinfo = std::size_t{8} << 20;  // bytes
  try {
    return cpu_text(read_regular_file("/proc/cpuinfo", longest_cpuinfo));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace ib::sys
