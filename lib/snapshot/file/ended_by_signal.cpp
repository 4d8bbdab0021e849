// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/file/ended_by_signal.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

#include "async/signals.hpp"

namespace ib::snapshot {
namespace {

/// The signals that end a program which does not expect them.
constexpr std::array<int, 6> signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

/// The object whose file a signal removes. The signal handler gets no argument for it.
std::atomic<const EndedBySignal*> unfinished{};
static_assert(std::atomic<const EndedBySignal*>::is_always_lock_free);

/// Replaces `usual` by `handler` as the action of each signal whose action it is, now or after an async::Interrupt has got its first
/// signal.
void replace(void (*usual)(int), void (*handler)(int)) {
  for (const int signal : signals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != usual) continue;
    struct sigaction next {};
    next.sa_handler = handler;
    for (const int other : signals) ::sigaddset(&next.sa_mask, other);  // one handler at a time
    ::sigaction(signal, &next, nullptr);
  }
  async::replace_fallback(usual, handler);
}

}  // namespace

EndedBySignal::EndedBySignal(int directory_fd, std::string file, std::string directory)
    : directory_fd_(directory_fd), file_(std::move(file)), directory_(std::move(directory)) {
  const EndedBySignal* none = nullptr;
  if (unfinished.compare_exchange_strong(none, this)) replace(SIG_DFL, remove_and_end);
}

EndedBySignal::~EndedBySignal() {
  if (unfinished.load() != this) return;
  replace(remove_and_end, SIG_DFL);
  unfinished = nullptr;
}

/// The signal handler. All that it calls is async-signal-safe. The signal comes again when it returns, and ends the program.
void EndedBySignal::remove_and_end(int signal) {
  if (const EndedBySignal* const self = unfinished.load()) {
    ::unlinkat(self->directory_fd_, self->file_.c_str(), 0);
    ::rmdir(self->directory_.c_str());
  }
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  ::sigaction(signal, &end, nullptr);
  ::raise(signal);
}

SignalsHeld::SignalsHeld() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsHeld::~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace ib::snapshot
