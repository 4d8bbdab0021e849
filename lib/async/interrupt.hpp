// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ctrl-C as something to wait for, so that what is under way can be ended with its results.
#pragma once

#include "async/event.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// While it lives, SIGINT and SIGTERM do not end the program but complete wait(); a second one does end it. One at a time.
class Interrupt final : public PollSource {
 public:
  /// Throws SysError.
  explicit Interrupt(Loop& loop);
  ~Interrupt() override;

  /// Waits for a signal; returns at once if one has come already.
  Task<> wait() { co_await came_; }

 private:
  void ready(short revents) override;

  UniqueFd reader_, writer_;
  Event came_;
};

/// Runs `work` until it ends or a signal comes, which cancels it. Throws what it throws, or SysError.
Task<> until_interrupted(Loop& loop, Task<> work);

}  // namespace ib::async
