// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The heap of async/timer.hpp: the usual sift up and sift down. Every move updates the position in the timer.
#include "async/timer.hpp"

namespace ib::async {

TimerHeap::~TimerHeap() {
  for (Timer* timer : heap_) timer->heap_ = nullptr;
}

void TimerHeap::place(std::size_t index, Timer* timer) {
  heap_[index] = timer;
  timer->index_ = index;
}

void TimerHeap::sift_up(std::size_t index) {
  Timer* timer = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline_ <= timer->deadline_) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, timer);
}

void TimerHeap::sift_down(std::size_t index) {
  Timer* timer = heap_[index];
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->deadline_ < heap_[child]->deadline_) ++child;
    if (timer->deadline_ <= heap_[child]->deadline_) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, timer);
}

void TimerHeap::arm(Timer& timer, Time deadline) {
  timer.disarm();
  heap_.push_back(&timer);
  timer.heap_ = this;
  timer.deadline_ = deadline;
  sift_up(heap_.size() - 1);
}

void TimerHeap::remove(Timer& timer) {
  const std::size_t index = timer.index_;
  Timer* last = heap_.back();
  heap_.pop_back();
  timer.heap_ = nullptr;
  if (last == &timer) return;
  place(index, last);
  sift_up(index);
  sift_down(last->index_);
}

Timer* TimerHeap::pop_due(Time now) {
  if (heap_.empty() || heap_.front()->deadline_ > now) return nullptr;
  Timer* timer = heap_.front();
  remove(*timer);
  return timer;
}

}  // namespace ib::async
