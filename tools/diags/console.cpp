// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See console.hpp.
#include "diags/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

namespace ib::diags {

std::string warning_line(std::string_view function, std::string_view text) {
  return fmt::format("ibwarn: [{}] {}: {}\n", getpid(), function, text);
}

void warn(std::string_view function, std::string_view text) {
  const std::string line = warning_line(function, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string failure_line(std::string_view tool, const Failure& failure, bool debug) {
  if (debug) return fmt::format("{}: iberror: [pid {}] {}: failed: {}\n", tool, getpid(), failure.function(), failure.what());
  return fmt::format("{}: iberror: failed: {}\n", tool, failure.what());
}

std::string panic_line(const Panic& panic) {
  return fmt::format("ibpanic: [{}] {}: {}: {}\n", getpid(), panic.function(), panic.what(), std::strerror(panic.code()));
}

std::string hex_words(Bytes bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    fmt::format_to(std::back_inserter(text), "{:02x}", bytes[at]);
    if (at % 2 == 1) text += (at + 1) % 16 == 0 ? '\n' : ' ';
  }
  if (bytes.size() % 16 != 0) text += '\n';
  return text;
}

}  // namespace ib::diags
