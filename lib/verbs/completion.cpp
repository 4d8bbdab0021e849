// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/completion.hpp"

#include <fcntl.h>

#include <cerrno>

#include "base/error.hpp"

namespace ib::verbs {

CompletionQueue::CompletionQueue(const Context& context, unsigned entries)
    : context_(&context), channel_(ibv_create_comp_channel(context.get())) {
  const std::string& name = context.device().name;
  if (!channel_) throw SysError(errno, "ibv_create_comp_channel", name);
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) < 0) throw SysError(errno, "fcntl", name);
  queue_.reset(ibv_create_cq(context.get(), static_cast<int>(entries), nullptr, channel_.get(), 0));
  if (!queue_) throw SysError(errno, "ibv_create_cq", name);
}

void CompletionQueue::request_event() {
  if (const int code = ibv_req_notify_cq(get(), 0); code != 0) throw SysError(code, "ibv_req_notify_cq", context_->device().name);
}

void CompletionQueue::take_events() {
  unsigned count = 0;
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &owner) == 0) ++count;
  const int code = errno;
  if (count > 0) ibv_ack_cq_events(get(), count);
  if (code != EAGAIN && code != EWOULDBLOCK && code != EINTR) throw SysError(code, "ibv_get_cq_event", context_->device().name);
}

std::size_t CompletionQueue::poll(std::span<ibv_wc> completions) {
  const int count = ibv_poll_cq(get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) throw SysError(EIO, "ibv_poll_cq", context_->device().name);
  return static_cast<std::size_t>(count);
}

}  // namespace ib::verbs
