// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// As interrupt.cpp: the handler writes a byte into a pipe that the loop watches.
#include "async/hangup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace ib::async {
namespace {

volatile std::sig_atomic_t hangup_pipe = -1;

/// The signal handler. write() is async-signal-safe. A full pipe already wakes the loop.
void on_hangup(int /*signal*/) {
  const int saved = errno;
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(hangup_pipe, &byte, 1);
  errno = saved;
}

}  // namespace

Hangup::Hangup(Loop& loop, std::function<void()> came) : came_(std::move(came)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw SysError(errno, "pipe", "for signals");
  reader_.reset(ends[0]);
  writer_.reset(ends[1]);
  hangup_pipe = writer_.get();
  loop.watch(*this, reader_.get(), POLLIN);
  if (::sigaction(SIGHUP, nullptr, &before_) != 0) return;
  if ((before_.sa_flags & SA_SIGINFO) == 0 && before_.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = on_hangup;
  action.sa_flags = SA_RESTART;
  taken_over_ = ::sigaction(SIGHUP, &action, nullptr) == 0;
}

Hangup::~Hangup() {
  unwatch();
  if (taken_over_) ::sigaction(SIGHUP, &before_, nullptr);
  hangup_pipe = -1;
}

void Hangup::ready(short /*revents*/) {
  std::array<char, 64> bytes{};
  while (::read(reader_.get(), bytes.data(), bytes.size()) > 0) {
  }
  came_();
}

}  // namespace ib::async
