// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/diags_words.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

}  // namespace ib::tools
