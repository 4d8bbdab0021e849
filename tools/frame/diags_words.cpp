// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/diags_words.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

bool print_on_stderr(const World& world, std::string_view text) { return world.log->print(printable_words(text)); }

std::string verbose_line(std::string_view function, std::string_view text) {
  return fmt::format("[{}] {}: {}\n", getpid(), function, text);
}

void warn(const World& world, std::string_view function, std::string_view text) {
  print_on_stderr(world, fmt::format("ibwarn: [{}] {}: {}\n", getpid(), function, text));
}

std::string failure_line(std::string_view program, std::string_view what) {
  return fmt::format("{}: iberror: failed: {}\n", program, printable_words(what));
}

std::string panic_line(const DiagsPanic& panic) {
  return fmt::format("ibpanic: [{}] main: {}: {}\n", getpid(), panic.message(), std::strerror(panic.code()));
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

}  // namespace ib::tools
