// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A line on the terminal that shows the progress of a long operation and disappears at its end.
#pragma once

#include <cstdio>
#include <string_view>

namespace ib::report {

/// Shows progress on `file` only if `file` is a terminal, and `can_erase` a line. Logs and pipes therefore contain no progress.
class Progress {
 public:
  Progress(std::FILE* file, bool can_erase);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether progress can be shown at all.
  bool is_terminal() const { return terminal_; }
  /// Replaces the line by `text`, which must be plain ASCII and is cut at 79 columns.
  void show(std::string_view text);
  /// Erases the line. To be called before anything else is written to the terminal.
  void clear();

 private:
  std::FILE* file_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace ib::report
