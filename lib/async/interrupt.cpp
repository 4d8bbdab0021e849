// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The signal handler writes a byte into a pipe that the loop watches. A signalfd would need the signals blocked in every
// thread, and preload libraries start threads before main().
#include "async/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "async/group.hpp"
#include "base/error.hpp"

namespace ib::async {

namespace {

constexpr std::array<int, 2> signals{SIGINT, SIGTERM};

volatile std::sig_atomic_t pipe_end = -1;
/// The earlier actions of `signals`, which are restored after the first signal.
std::array<struct sigaction, signals.size()> fallbacks{};

void on_interrupt(int signal);

/// Whether an Interrupt has taken over `signal`.
bool is_ours(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_interrupt;
}

/// The signal handler. sigaction() and write() are async-signal-safe. After the first signal, the next signal of either kind does what it
/// did before: it ends the program.
void on_interrupt(int /*signal*/) {
  const int saved = errno;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (is_ours(signals[i])) ::sigaction(signals[i], &fallbacks[i], nullptr);
  }
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(pipe_end, &byte, 1);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt(Loop& loop) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw SysError(errno, "pipe", "for signals");
  reader_.reset(ends[0]);
  writer_.reset(ends[1]);
  pipe_end = writer_.get();
  loop.watch(*this, reader_.get(), POLLIN);
  for (std::size_t i = 0; i < signals.size(); ++i) taken_over_[i] = take_over(i);
}

Interrupt::~Interrupt() {
  unwatch();
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (taken_over_[i]) ::sigaction(signals[i], &fallbacks[i], nullptr);
  }
  pipe_end = -1;
}

/// Installs the handler, but not for a signal that is ignored: nohup, or a shell without job control that starts a program in
/// the background, wants the signal to stay ignored.
bool Interrupt::take_over(std::size_t which) {
  const int signal = signals[which];
  struct sigaction now {
  }, action{};
  if (::sigaction(signal, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN) return false;
  fallbacks[which] = now;
  action.sa_handler = on_interrupt;
  for (const int other : signals) ::sigaddset(&action.sa_mask, other);  // one handler at a time
  return ::sigaction(signal, &action, nullptr) == 0;
}

void replace_fallback(void (*usual)(int), void (*handler)(int)) {
  if (pipe_end < 0) return;
  for (struct sigaction& fallback : fallbacks) {
    if ((fallback.sa_flags & SA_SIGINFO) == 0 && fallback.sa_handler == usual) fallback.sa_handler = handler;
  }
}

void Interrupt::ready(short /*revents*/) {
  unwatch();
  came_.set();
}

namespace {
Task<> mark_end(Task<> work, bool& is_done) {
  co_await std::move(work);
  is_done = true;
}
}  // namespace

Task<bool> until_interrupted(Loop& loop, Interrupt& interrupt, Task<> work) {
  bool is_done = false;
  TaskGroup group(loop);
  group.spawn(mark_end(std::move(work), is_done));
  group.spawn(interrupt.wait());
  co_await group.wait_below(2);
  co_return is_done;
}

}  // namespace ib::async
