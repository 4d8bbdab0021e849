// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "out/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ib::out {

namespace {

constexpr std::chrono::milliseconds period{100};

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && !(term != nullptr && std::string_view(term) == "dumb");
}

}  // namespace

Progress::Progress() : terminal_(is_terminal()) {}

bool Progress::due() const { return terminal_ && std::chrono::steady_clock::now() >= next_; }

void Progress::update(std::string_view text) {
  if (!due()) return;
  const std::string line = "\r" + std::string(text.substr(0, 79)) + "\x1b[K";  // EL: erase to the end of the line
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + period;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace ib::out
