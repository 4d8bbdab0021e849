// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The queue of ready nodes. A ReadyNode is part of the object that wants to run (a coroutine's promise, a child of a group), so
// queueing allocates nothing. An object that is destroyed while queued removes itself from the queue.
#pragma once

namespace ib::async {

/// Base of objects that a Loop can fire. The destructor removes the node from its queue.
class ReadyNode {
 public:
  ReadyNode() = default;
  ReadyNode(const ReadyNode&) = delete;
  ReadyNode& operator=(const ReadyNode&) = delete;
  virtual ~ReadyNode() { unlink(); }

  /// Runs the waiting object. The loop calls this after it has removed the node from the queue.
  virtual void fire() = 0;
  bool queued() const { return next_ != nullptr; }
  void unlink() {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  friend class ReadyQueue;
  ReadyNode* next_{};
  ReadyNode* previous_{};
};

/// A first-in, first-out queue that does not own its nodes.
class ReadyQueue {
 public:
  ReadyQueue() { head_.next_ = head_.previous_ = &head_; }
  ~ReadyQueue() {
    while (pop() != nullptr) {
    }
    head_.next_ = head_.previous_ = nullptr;
  }
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  /// Appends `node`, unless it is queued already.
  void push(ReadyNode& node) {
    if (node.queued()) return;
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
  }
  ReadyNode* pop() {
    if (empty()) return nullptr;
    ReadyNode* node = head_.next_;
    node->unlink();
    return node;
  }

 private:
  struct Head final : ReadyNode {
    void fire() override {}
  };
  Head head_;
};

}  // namespace ib::async
