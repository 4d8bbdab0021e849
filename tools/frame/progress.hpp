// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One line on the terminal for every run that takes longer than a second: what was done so far, and what was sent for it. The line comes
// from a timer of the loop, so that it also moves while nothing comes in.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "async/loop.hpp"
#include "base/log.hpp"
#include "mad/stats.hpp"
#include "report/progress.hpp"

namespace ib::tools {

/// "1,284 nodes, 31,877 MADs (12 tried again, 3 lost), 15,200/s, 2 s". It is shown when nothing was written for a second, and taken away
/// before anything is (Log::about_to_write()). Where `file` is no terminal, nothing is shown. A Log has one at a time.
class ProgressLine final : private async::Timer {
 public:
  /// `file` and `log`, which must outlive this, write to the same place.
  ProgressLine(async::Loop& loop, std::FILE* file, Log& log);
  ~ProgressLine() override { stop(); }

  /// So many `unit` ("nodes", "ports") are found or done; of `all`, where that is known.
  void count(std::size_t done, std::size_t all, std::string_view unit);
  void count(std::size_t done, std::string_view unit) { count(done, 0, unit); }
  /// Shows also what `stats` counts, which must outlive this.
  void count_mads(const mad::Stats* stats) { stats_ = stats; }
  /// Shows nothing more: for commands that wait on purpose, or print as they go.
  void stop();

 private:
  void expired() override;
  void interrupt();
  std::string text() const;

  async::Loop& loop_;
  Log& log_;
  report::Progress line_;
  const mad::Stats* stats_{};
  std::string unit_;
  std::size_t done_{}, all_{};
  async::Time begin_;
};

}  // namespace ib::tools
