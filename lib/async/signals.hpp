// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Signals on the loop: Ctrl-C, so that an interrupted operation can still show its results, and SIGHUP, with which a user makes a
// long-lived process read its inputs again.
#pragma once

#include <array>
#include <csignal>
#include <functional>

#include "async/event.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// A pipe into which a signal handler writes and that the loop watches. A signalfd would need the signals blocked in every thread, and
/// preload libraries start threads before main().
class SignalPipe final : private PollSource {
 public:
  /// Calls `came` each time that a signal has come. Throws SysError.
  SignalPipe(Loop& loop, std::function<void()> came);
  int writer() const { return writer_.get(); }

 private:
  void ready(short revents) override;

  std::function<void()> came_;
  UniqueFd reader_, writer_;
};

/// While an Interrupt exists, SIGINT and SIGTERM complete wait() instead of ending the program. A second signal of either kind
/// ends the program. A signal that was ignored before stays ignored. The destructor restores the earlier handlers. Only one
/// Interrupt may exist at a time.
class Interrupt {
 public:
  /// Throws SysError.
  explicit Interrupt(Loop& loop);
  ~Interrupt();

  /// Waits for a signal. Returns at once if a signal has come already.
  Task<> wait();

 private:
  Event came_;
  SignalPipe pipe_;
  std::array<bool, 2> taken_over_{};  ///< SIGINT and SIGTERM
};

/// While an Interrupt exists: a signal that would do `usual` after the first one, and when the Interrupt is gone, does `handler` then.
/// Signals must be blocked.
void replace_fallback(void (*usual)(int), void (*handler)(int));

/// Runs `work` until it ends, or a signal cancels it. Returns whether it ended. Throws what `work` throws.
Task<bool> until_interrupted(Loop& loop, Interrupt& interrupt, Task<> work);

/// While a Hangup exists, SIGHUP calls a function in place of ending the program, each time that it comes. A SIGHUP that was ignored before
/// stays ignored. The destructor restores the earlier handler. Only one Hangup may exist at a time.
class Hangup {
 public:
  /// Throws SysError.
  Hangup(Loop& loop, std::function<void()> came);
  ~Hangup();

 private:
  SignalPipe pipe_;
  struct sigaction before_ {};
  bool taken_over_{};
};

}  // namespace ib::async
