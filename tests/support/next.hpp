// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The function of the same name in the library behind a preload, which the preload calls when it has done its part. All is static, so that
// each preload looks it up from its own place in the order.
#pragma once

#include <dlfcn.h>
#include <poll.h>
#include <sys/types.h>

#include <cstddef>

template <typename Function>
static Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

[[maybe_unused]] static ssize_t real_write(int fd, const void* buffer, std::size_t count) {
  static const auto function = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return function(fd, buffer, count);
}

[[maybe_unused]] static ssize_t real_read(int fd, void* buffer, std::size_t count) {
  static const auto function = next<ssize_t (*)(int, void*, std::size_t)>("read");
  return function(fd, buffer, count);
}

[[maybe_unused]] static int real_poll(pollfd* fds, nfds_t count, int timeout) {
  static const auto function = next<int (*)(pollfd*, nfds_t, int)>("poll");
  return function(fds, count, timeout);
}
