// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ctrl-C as something to wait for, so that what is under way can be ended with its results.
#pragma once

#include <array>
#include <csignal>
#include <optional>

#include "async/event.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// While it lives, SIGINT and SIGTERM do not end the program but complete wait(); a second signal of either kind does end it. A
/// signal that was ignored before stays so. Afterwards both do again what they did before. One Interrupt at a time.
class Interrupt final : public PollSource {
 public:
  /// Throws SysError.
  explicit Interrupt(Loop& loop);
  ~Interrupt() override;

  /// Waits for a signal; returns at once if one has come already.
  Task<> wait() { co_await came_; }

 private:
  void ready(short revents) override;
  static void take_over(int signal, std::optional<struct sigaction>& before);

  UniqueFd reader_, writer_;
  Event came_;
  std::array<std::optional<struct sigaction>, 2> before_;  ///< what the signals did that were taken over: SIGINT, SIGTERM
};

/// Runs `work` until it ends or a signal comes, which cancels it. Throws what it throws, or SysError.
Task<> until_interrupted(Loop& loop, Task<> work);

}  // namespace ib::async
