// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What runs when a loop comes to it. A ReadyNode is part of the object that wants to run (a coroutine's promise, a child of a group), so
// queueing allocates nothing. An object that is destroyed while queued removes itself from the queue.
#pragma once

#include "base/list.hpp"

namespace ib::async {

/// Base of objects that a Loop can fire.
class ReadyNode : public ListHook<ReadyNode> {
 public:
  virtual ~ReadyNode() = default;

  /// Runs the waiting object. The loop calls this after it has removed the node from the queue.
  virtual void fire() = 0;
};

}  // namespace ib::async
