// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "http/server.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace ib::http {

const bool can_load = true;

void* library_function(const char* name) {
  constexpr const char* file = "libmicrohttpd.so.12";
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // the same one each time
  if (library == nullptr) throw Error(fmt::format("{} cannot be loaded ({}): install libmicrohttpd12", file, ::dlerror()));
  if (void* found = ::dlsym(library, name)) return found;
  throw Error(fmt::format("{} is too old: it has no {}", file, name));
}

}  // namespace ib::http
