// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A line on the terminal that says how far a long operation has come, and vanishes when it is over.
#pragma once

#include <cstdio>
#include <string_view>

namespace ib::out {

/// Shows progress on `file`, and only if that is a terminal that can erase a line: logs and pipes see nothing of it.
class Progress {
 public:
  explicit Progress(std::FILE* file = stderr);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether anything is ever shown.
  bool is_terminal() const { return terminal_; }
  /// Replaces the line by `text`, cut at 79 columns; it must be plain ASCII.
  void show(std::string_view text);
  /// Takes the line away, as one does before anything else is written to the terminal.
  void clear();

 private:
  std::FILE* file_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace ib::out
