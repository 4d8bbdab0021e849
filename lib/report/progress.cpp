// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/progress.hpp"

#include <unistd.h>

#include <string>

namespace ib::report {

namespace {

constexpr std::size_t columns = 79;

}  // namespace

Progress::Progress(std::FILE* file, bool can_erase) : file_(file), terminal_(can_erase && ::isatty(::fileno(file)) == 1) {}

void Progress::show(std::string_view text) {
  if (!terminal_) return;
  const std::string line = "\r" + std::string(text.substr(0, columns)) + "\x1b[K";  // EL: erase to the end of the line
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", file_);
  std::fflush(file_);
  shown_ = false;
}

}  // namespace ib::report
