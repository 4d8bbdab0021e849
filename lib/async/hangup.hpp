// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SIGHUP, the signal with which a user makes a long-lived process read its inputs again.
#pragma once

#include <csignal>
#include <functional>

#include "async/loop.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// While a Hangup exists, SIGHUP calls a function in place of ending the program, each time that it comes. A SIGHUP that was ignored before
/// stays ignored. The destructor restores the earlier handler. Only one Hangup may exist at a time.
class Hangup final : public PollSource {
 public:
  /// Throws SysError.
  Hangup(Loop& loop, std::function<void()> came);
  ~Hangup() override;

 private:
  void ready(short revents) override;

  std::function<void()> came_;
  UniqueFd reader_, writer_;
  struct sigaction before_ {};
  bool taken_over_{};
};

}  // namespace ib::async
