// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "async/group.hpp"
#include "base/error.hpp"

namespace ib::async {

namespace {

constexpr std::array<int, 2> signals{SIGINT, SIGTERM};

volatile std::sig_atomic_t interrupt_pipe = -1, hangup_pipe = -1;
/// The earlier actions of `signals`, which are restored after the first signal.
std::array<struct sigaction, signals.size()> fallbacks{};

/// For signal handlers: write() is async-signal-safe. A full pipe already wakes the loop.
void wake(int pipe) {
  const int saved = errno;
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(pipe, &byte, 1);
  errno = saved;
}

bool does(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

/// Installs `action` and stores the earlier one in `before`, but not for a signal that is ignored: nohup, or a shell without job control
/// that starts a program in the background, wants the signal to stay ignored.
bool take_over(int signal, const struct sigaction& action, struct sigaction& before) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || does(now, SIG_IGN)) return false;
  before = now;
  return ::sigaction(signal, &action, nullptr) == 0;
}

/// After the first signal, the next signal of either kind does what it did before: it ends the program. sigaction() is async-signal-safe.
void on_interrupt(int /*signal*/) {
  const int saved = errno;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction now {};
    if (::sigaction(signals[i], nullptr, &now) == 0 && does(now, on_interrupt)) ::sigaction(signals[i], &fallbacks[i], nullptr);
  }
  errno = saved;
  wake(interrupt_pipe);
}

void on_hangup(int /*signal*/) { wake(hangup_pipe); }

Task<> mark_end(Task<> work, bool& is_done) {
  co_await std::move(work);
  is_done = true;
}

}  // namespace

SignalPipe::SignalPipe(Loop& loop, std::function<void()> came) : came_(std::move(came)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw SysError(errno, "pipe", "for signals");
  reader_.reset(ends[0]);
  writer_.reset(ends[1]);
  loop.watch(*this, reader_.get(), POLLIN);
}

void SignalPipe::ready(short /*revents*/) {
  std::array<char, 64> bytes{};
  while (::read(reader_.get(), bytes.data(), bytes.size()) > 0) {
  }
  came_();
}

Interrupt::Interrupt(Loop& loop) : pipe_(loop, [this] { came_.set(); }) {
  interrupt_pipe = pipe_.writer();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int signal : signals) ::sigaddset(&action.sa_mask, signal);  // one handler at a time
  for (std::size_t i = 0; i < signals.size(); ++i) taken_over_[i] = take_over(signals[i], action, fallbacks[i]);
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (taken_over_[i]) ::sigaction(signals[i], &fallbacks[i], nullptr);
  }
  interrupt_pipe = -1;
}

void replace_fallback(void (*usual)(int), void (*handler)(int)) {
  if (interrupt_pipe < 0) return;
  for (struct sigaction& fallback : fallbacks) {
    if (does(fallback, usual)) fallback.sa_handler = handler;
  }
}

Task<> Interrupt::wait() { co_await came_; }

Task<bool> until_interrupted(Loop& loop, Interrupt& interrupt, Task<> work) {
  bool is_done = false;
  TaskGroup group(loop);
  group.spawn(mark_end(std::move(work), is_done));
  group.spawn(interrupt.wait());
  co_await group.wait_below(2);
  co_return is_done;
}

Hangup::Hangup(Loop& loop, std::function<void()> came) : pipe_(loop, std::move(came)) {
  hangup_pipe = pipe_.writer();
  struct sigaction action {};
  action.sa_handler = on_hangup;
  action.sa_flags = SA_RESTART;
  taken_over_ = take_over(SIGHUP, action, before_);
}

Hangup::~Hangup() {
  if (taken_over_) ::sigaction(SIGHUP, &before_, nullptr);
  hangup_pipe = -1;
}

}  // namespace ib::async
