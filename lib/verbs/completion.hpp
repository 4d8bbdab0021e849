// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A completion queue with its completion channel, whose descriptor a loop can watch. An event comes for the first
// completion after request_event() only, so one asks for it, polls once more, and waits if there was nothing.
#pragma once

#include <span>

#include "verbs/context.hpp"

namespace ib::verbs {

class CompletionQueue {
 public:
  /// Of at least `entries` completions. Throws SysError.
  CompletionQueue(const Context& context, unsigned entries);

  ibv_cq* get() const { return queue_.get(); }
  /// Readable, without blocking, when there is an event.
  int fd() const { return channel_->fd; }
  /// The first completion after this makes an event. Throws SysError.
  void request_event();
  /// Takes the events that there are. Throws SysError, EIO when the device has gone.
  void take_events();
  /// Fills `completions` as far as there are any, and returns how many. Throws SysError.
  std::size_t poll(std::span<ibv_wc> completions);

 private:
  const Context* context_;
  Handle<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  Handle<ibv_cq, ibv_destroy_cq> queue_;
};

}  // namespace ib::verbs
