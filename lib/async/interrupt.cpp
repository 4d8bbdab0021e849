// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The signal handler writes a byte into a pipe that the loop watches. A signalfd would need the signals blocked in every
// thread, and preload libraries start threads of their own before main().
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

/// Async-signal-safe. The handlers are gone after the first signal (SA_RESETHAND): the next one ends the program.
void tell(int /*signal*/) {
  const int saved = errno;
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
  struct sigaction action {};
  action.sa_handler = tell;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : signals) ::sigaction(signal, &action, nullptr);
  loop.watch(*this, reader_.get(), POLLIN);
}

Interrupt::~Interrupt() {
  unwatch();
  for (const int signal : signals) std::signal(signal, SIG_DFL);
  pipe_end = -1;
}

void Interrupt::ready(short /*revents*/) {
  unwatch();
  came_.set();
}

Task<> until_interrupted(Loop& loop, Task<> work) {
  Interrupt interrupt(loop);
  TaskGroup group(loop);
  group.spawn(std::move(work));
  group.spawn(interrupt.wait());
  co_await group.wait_below(2);
}

}  // namespace ib::async
