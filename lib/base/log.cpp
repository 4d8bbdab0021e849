// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/log.hpp"

#include <string>
#include <utility>

#include "base/escape.hpp"

namespace ib::log {

namespace {

char letter_of(Level level) {
  switch (level) {
    case Level::debug:
      return 'D';
    case Level::warning:
      return 'W';
    case Level::error:
      break;
  }
  return 'E';
}

std::FILE*& stream() {
  static std::FILE* instance = stderr;
  return instance;
}

std::function<void()>& clear_line() {
  static std::function<void()> instance;
  return instance;
}

}  // namespace

void before_output(std::function<void()> clear) { clear_line() = std::move(clear); }

void about_to_write() {
  if (clear_line()) clear_line()();
}

void write_to(std::FILE* to) { stream() = to; }

void write(Level level, std::string_view text, const std::vector<std::string>& lines) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string shown{letter_of(level), ':', ' '};
  shown += level == Level::debug ? harmless(text) : harmless_line(text);
  for (const std::string& line : lines) shown += '\n' + harmless_line(line);
  shown += '\n';
  about_to_write();
  // In one piece: stderr has no buffer.
  std::fwrite(shown.data(), 1, shown.size(), stream());
  std::fflush(stream());
}

}  // namespace ib::log
