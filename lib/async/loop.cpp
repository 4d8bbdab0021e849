// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A turn of the loop: all ready nodes, then due timers, then one poll(). The descriptors are polled before timers fire. After a
// stall (a stopped process, a blocking call) a reply may be waiting that came before its timeout.
#include "async/loop.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>

#include "base/error.hpp"

namespace ib::async {

namespace {
constexpr int rounds_before_timers = 64;  // calls of poll(): enough for all replies of a window, and a flood of events cannot
                                          // hold up timers
}  // namespace

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

PollSource::~PollSource() { unwatch(); }

void PollSource::unwatch() {
  if (loop_ == nullptr) return;
  std::erase_if(loop_->watched_, [this](const Loop::Watched& w) { return w.source == this; });
  loop_ = nullptr;
}

Loop::~Loop() {
  for (Watched& w : watched_) w.source->loop_ = nullptr;
}

void Loop::watch(PollSource& source, int fd, short events, Duration slice) {
  source.unwatch();
  source.loop_ = this;
  watched_.push_back({&source, fd, events, slice});
}

void Loop::run_until(const bool& done) {
  while (!done) {
    if (ReadyNode* node = ready_.pop_front()) {
      node->fire();
      continue;
    }
    fire_due_timers();
    if (ready_.empty()) wait();
  }
}

void Loop::fire_due_timers() {
  if (timers_.empty()) return;
  const Time time = now();
  if (timers_.next() > time) return;
  for (int round = 0; round < rounds_before_timers && !watched_.empty() && poll_once(0); ++round) {
  }
  while (Timer* timer = timers_.pop_due(time)) timer->expired();
}

void Loop::wait() {
  if (!timers_.empty() && clock_->jump_to(timers_.next())) return;
  if (timers_.empty() && watched_.empty()) throw std::logic_error("the task waits for something that can never come");
  poll_once(timeout_until_next());
}

int Loop::timeout_until_next() const {
  if (timers_.empty()) return -1;
  const Duration left = timers_.next() - now();
  if (left <= Duration::zero()) return 0;
  // The time is rounded up: a loop that woke before the deadline would spin through the last millisecond.
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
}

/// Polls the descriptors that the poll() of a preload library does not poll.
void Loop::poll_others() {
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    const bool is_kernels = watched_[i].slice == Duration::zero();
    if (is_kernels && ::poll(&fds_[i], 1, 0) <= 0) fds_[i].revents = 0;
  }
}

bool Loop::poll_once(int timeout_ms) {
  fds_.clear();
  bool preloaded = false;
  for (const Watched& w : watched_) {
    fds_.push_back({w.fd, w.events, 0});
    if (w.slice == Duration::zero()) continue;
    preloaded = true;
    const auto slice_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(w.slice).count());
    if (timeout_ms < 0 || timeout_ms > slice_ms) timeout_ms = slice_ms;
  }
  const int count = ::poll(fds_.data(), fds_.size(), timeout_ms);
  // The poll() of a preload library may fail without an errno when it wakes up without an event.
  if (count < 0 && errno != EINTR && !preloaded) throw SysError(errno, "poll", "the loop's descriptors");
  if (preloaded) {
    poll_others();
  } else if (count <= 0) {
    return false;
  }
  bool found = false;
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    const pollfd fd = fds_[i];
    if (fd.revents == 0) continue;
    found = true;
    // A source may unwatch itself or other sources in ready(), so each source is looked up again.
    const auto w = std::ranges::find(watched_, fd.fd, &Watched::fd);
    if (w != watched_.end()) w->source->ready(fd.revents);
  }
  return found;
}

Task<> sleep_for(Duration delay) {
  Loop& loop = co_await current_loop;
  co_await loop.sleep_for(delay);
}

}  // namespace ib::async
