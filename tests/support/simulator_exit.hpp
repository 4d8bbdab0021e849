// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// For the preloads behind libumad2sim.so, one of which each program on a simulated fabric has. As the program ends, that library cancels
// and joins a thread of its own, which may wait for a lock that the ending thread holds: on a busy machine one end in some thousand never
// came.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cstring>

#include "next.hpp"

extern "C" __attribute__((visibility("default"))) int pthread_join(pthread_t thread, void** result) {
  static const auto join = next<int (*)(pthread_t, void**)>("pthread_join");
  static const auto join_until = next<int (*)(pthread_t, void**, const timespec*)>("pthread_timedjoin_np");
  Dl_info caller{};
  const bool is_simulator = dladdr(__builtin_return_address(0), &caller) != 0 && std::strstr(caller.dli_fname, "libumad2sim") != nullptr;
  if (!is_simulator) return join(thread, result);
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  return join_until(thread, result, &until);
}
