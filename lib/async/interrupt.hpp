// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Waits for Ctrl-C, so that an interrupted operation can still show its results.
#pragma once

#include <array>
#include <cstddef>

#include "async/event.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// While an Interrupt exists, SIGINT and SIGTERM complete wait() instead of ending the program. A second signal of either kind
/// ends the program. A signal that was ignored before stays ignored. The destructor restores the earlier handlers. Only one
/// Interrupt may exist at a time.
class Interrupt final : public PollSource {
 public:
  /// Throws SysError.
  explicit Interrupt(Loop& loop);
  ~Interrupt() override;

  /// Waits for a signal. Returns at once if a signal has come already.
  Task<> wait() { co_await came_; }

 private:
  void ready(short revents) override;
  static bool take_over(std::size_t which);

  UniqueFd reader_, writer_;
  Event came_;
  std::array<bool, 2> taken_over_{};  ///< SIGINT and SIGTERM
};

/// While an Interrupt exists: a signal that would do `usual` after the first one, and when the Interrupt is gone, does `handler` then.
/// Signals must be blocked.
void replace_fallback(void (*usual)(int), void (*handler)(int));

/// Runs `work` until it ends, or a signal cancels it. Returns whether it ended. Throws what `work` throws.
Task<bool> until_interrupted(Loop& loop, Interrupt& interrupt, Task<> work);

}  // namespace ib::async
