// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/signals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/catch.hpp"

namespace async_interrupt_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<> raise_after(Loop& loop, Duration delay, int signal) {
  co_await loop.sleep_for(delay);
  std::raise(signal);
  co_await loop.sleep_for(1h);
}

Task<> sleep(Loop& loop, Duration delay) { co_await loop.sleep_for(delay); }

/// Sets what `signal` does, for as long as it lives.
class Disposition {
 public:
  Disposition(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(signal, &action, &before_);
  }
  ~Disposition() { ::sigaction(signal_, &before_, nullptr); }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

void handler(int /*signal*/) {}

auto handler_of(int signal) {
  struct sigaction now {};
  REQUIRE(::sigaction(signal, nullptr, &now) == 0);
  return now.sa_handler;
}

/// The signal that ends a process which gets `first` and then `second` while an Interrupt lives; 0 where none does.
int end_of(int first, int second) {
  const pid_t child = ::fork();
  if (child == 0) {
    Loop loop;
    Interrupt interrupt(loop);
    std::raise(first);
    loop.run(interrupt.wait());
    std::raise(second);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("a signal cancels the work and leaves the program alive") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Loop loop;
    const Time start = loop.now();
    Interrupt interrupt(loop);
    loop.run(until_interrupted(loop, interrupt, raise_after(loop, 5ms, signal)));
    REQUIRE(loop.now() - start < 10s);
  }
}

TEST_CASE("work that no signal cancels ends by itself") {
  Loop loop;
  Interrupt interrupt(loop);
  loop.run(until_interrupted(loop, interrupt, sleep(loop, 5ms)));
}

TEST_CASE("a signal that came before anybody waited is not lost") {
  Loop loop;
  Interrupt interrupt(loop);
  std::raise(SIGTERM);
  loop.run(interrupt.wait());
  loop.run(interrupt.wait());
}

TEST_CASE("signals have their earlier effect once no Interrupt exists") {
  Loop loop;
  const Disposition usual(SIGINT, SIG_DFL), own(SIGTERM, handler);
  { Interrupt interrupt(loop); }
  CHECK(handler_of(SIGINT) == SIG_DFL);
  CHECK(handler_of(SIGTERM) == handler);
  {
    Interrupt interrupt(loop);
    std::raise(SIGTERM);
    loop.run(interrupt.wait());
  }
  CHECK(handler_of(SIGINT) == SIG_DFL);
  CHECK(handler_of(SIGTERM) == handler);
}

TEST_CASE("a second signal ends the program, whatever the first was") {
  for (const int first : {SIGINT, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) CHECK(end_of(first, second) == second);
  }
}

TEST_CASE("a signal that was ignored stays ignored: under nohup, or in the background") {
  const Disposition ignored(SIGINT, SIG_IGN);
  Loop loop;
  {
    Interrupt interrupt(loop);
    CHECK(handler_of(SIGINT) == SIG_IGN);
    std::raise(SIGINT);
    std::raise(SIGTERM);
    loop.run(interrupt.wait());
    CHECK(handler_of(SIGINT) == SIG_IGN);
    std::raise(SIGINT);
  }
  CHECK(handler_of(SIGINT) == SIG_IGN);
  CHECK(end_of(SIGTERM, SIGINT) == 0);
}

}  // namespace async_interrupt_tests
