// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One line on the terminal for every run that takes longer than a second: how much was done so far, and how many MADs were sent. A timer of
// the loop writes the line, so that it also changes while no answers arrive.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "async/loop.hpp"
#include "async/task.hpp"
#include "mad/trace.hpp"

namespace ib {
class Log;
}

namespace ib::tools {

struct World;

/// "1,284 nodes, 31,877 MADs (12 tried again, 3 lost), 15,200/s, 2 s". The line is shown when nothing was written for a second, and is
/// erased before anything else is written (Log::about_to_write()). Nothing is shown where World::err is not a terminal, or one that erases
/// no lines. A Log has at most one ProgressLine.
class ProgressLine final : private async::Timer {
 public:
  /// `world` must outlive this. Shows nothing if `may_show` is false.
  ProgressLine(async::Loop& loop, const World& world, bool may_show = true);
  ~ProgressLine() override { stop(); }

  /// Sets the number of `unit` ("nodes", "ports") that are found or done; `all` is their total, 0 if that is not known.
  void count(std::size_t done, std::size_t all, std::string_view unit);
  void count(std::size_t done, std::string_view unit) { count(done, 0, unit); }
  /// For long computations: sets the number, and lets the loop run.
  async::Task<> pause(std::size_t done, std::size_t all, std::string_view unit);
  /// Shows the counts of `stats` too. `stats` must outlive this object.
  void count_mads(const mad::Stats* stats) { stats_ = stats; }
  /// Shows nothing more: for commands that wait on purpose, or print as they go.
  void stop();

 private:
  void expired() override;
  void interrupt();
  void clear();
  std::string text() const;

  async::Loop& loop_;
  std::FILE* file_;
  Log* log_;  ///< null: nothing is shown
  bool is_on_screen_{};
  const mad::Stats* stats_{};
  std::string unit_;
  std::size_t done_{}, all_{};
  async::Time begin_;
};

}  // namespace ib::tools
