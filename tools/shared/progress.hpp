// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One line on the terminal for whatever takes longer than a second: what was found so far, and what was sent for it. It comes from a
// timer of the loop, so that it also moves while nothing comes in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "async/loop.hpp"
#include "mad/stats.hpp"
#include "out/progress.hpp"

namespace ib::tools {

/// "1,284 nodes, 31,877 MADs (12 tried again, 3 lost), 15,200/s, 2 s": shown from the first second on, until this dies. Nothing is
/// shown where `file` is no terminal.
class ProgressLine final : private async::Timer {
 public:
  /// `stats` may be null; it and `file` must outlive this. `unit` is what is counted: "nodes", "ports".
  ProgressLine(async::Loop& loop, std::FILE* file, const mad::Stats* stats, std::string_view unit);
  ~ProgressLine() override { disarm(); }

  /// So many are found or done; of `all`, where that is known.
  void count(std::size_t done, std::size_t all = 0) {
    done_ = done;
    all_ = all;
  }
  /// Takes the line away until it is shown next: call it before anything else is written to the terminal.
  void clear() { line_.clear(); }

 private:
  void expired() override;
  std::string text() const;

  async::Loop& loop_;
  out::Progress line_;
  const mad::Stats* stats_;
  std::string unit_;
  std::size_t done_{}, all_{};
  async::Time begin_;
};

}  // namespace ib::tools
