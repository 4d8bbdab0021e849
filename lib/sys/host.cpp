// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/host.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/parse.hpp"
#include "base/unique_fd.hpp"

namespace ib::sys {

namespace {

constexpr std::size_t longest_cpuinfo = std::size_t{8} << 20;  // bytes
constexpr std::size_t most_cpus = 4096;

std::string read_bounded(const char* path, std::size_t most) {
  std::string text;
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 16384> chunk{};
  while (fd && text.size() < most) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return text;
}

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

std::vector<Cpu> cpus() { return parse_cpus(read_bounded("/proc/cpuinfo", longest_cpuinfo)); }

}  // namespace ib::sys
