// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// For the preloads behind libumad2sim.so, one of which each program on a simulated fabric has. That library reads packets in a thread of
// its own, and as the program ends it cancels the thread, waits for it and frees what it uses. On a busy machine one end in some thousand
// went wrong: the thread waited for a lock that the ending one held, or none could be started, which the library does not notice. Here it
// is started until it is, its start ends where it waits for packets, and at the program's end it is halted where it stands.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "next.hpp"

namespace {

std::atomic<bool> simulator_has_waited{false}, simulator_is_halted{false};
pthread_t simulator_thread{};  // once it is to halt

/// libumad2sim.so calls poll(): its thread, for packets.
void simulator_waits() { simulator_has_waited = true; }

bool is_simulator(const void* return_address) {
  Dl_info caller{};
  return dladdr(return_address, &caller) != 0 && std::strstr(caller.dli_fname, "libumad2sim") != nullptr;
}

/// Two seconds at most.
void wait_until(const std::atomic<bool>& is_true) {
  for (int millisecond = 0; !is_true && millisecond < 2000; ++millisecond) usleep(1000);
}

void halt(int) {
  simulator_is_halted = true;
  for (;;) pause();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) {
  static const auto create = next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (!is_simulator(__builtin_return_address(0))) return create(thread, attributes, start, argument);
  int failure = create(thread, attributes, start, argument);
  for (int tries = 0; failure == EAGAIN && tries < 100; ++tries) {
    usleep(20000);
    failure = create(thread, attributes, start, argument);
  }
  if (failure == 0) wait_until(simulator_has_waited);
  return failure;
}

extern "C" __attribute__((visibility("default"))) int pthread_cancel(pthread_t thread) {
  static const auto cancel = next<int (*)(pthread_t)>("pthread_cancel");
  if (!is_simulator(__builtin_return_address(0))) return cancel(thread);
  simulator_thread = thread;
  if (thread == 0) return 0;  // not started
  struct sigaction action {};
  action.sa_handler = halt;
  sigaction(SIGRTMAX - 1, &action, nullptr);
  if (pthread_kill(thread, SIGRTMAX - 1) == 0) wait_until(simulator_is_halted);
  return 0;
}

extern "C" __attribute__((visibility("default"))) int pthread_join(pthread_t thread, void** result) {
  static const auto join = next<int (*)(pthread_t, void**)>("pthread_join");
  return thread == simulator_thread ? 0 : join(thread, result);  // a sanitizer may be the caller
}
