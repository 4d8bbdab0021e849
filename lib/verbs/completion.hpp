// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A completion queue with a completion channel, whose descriptor a loop can watch. Only the first completion after
// request_event() makes an event. A user therefore calls request_event(), polls once more, and waits only if poll() found
// nothing.
#pragma once

#include <span>

#include "verbs/context.hpp"

namespace ib::verbs {

/// A completion queue and its completion channel.
class CompletionQueue {
 public:
  /// Makes a queue for at least `entries` completions. Throws SysError.
  CompletionQueue(const Context& context, unsigned entries);

  ibv_cq* get() const { return queue_.get(); }
  /// The descriptor of the channel, non-blocking. It is readable when there is an event.
  int fd() const { return channel_->fd; }
  /// Requests an event for the next completion. Throws SysError.
  void request_event();
  /// Removes all pending events. Throws SysError: EIO if the device has gone.
  void take_events();
  /// Fills `completions` with as many completions as there are, and returns their number. Throws SysError.
  std::size_t poll(std::span<ibv_wc> completions);

 private:
  const Context* context_;
  Handle<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  Handle<ibv_cq, ibv_destroy_cq> queue_;
};

}  // namespace ib::verbs
