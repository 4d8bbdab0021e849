// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a static program has in the place of library.cpp: it cannot load libraries, because they need a C library of their own.
#include "base/error.hpp"
#include "http/server.hpp"

namespace ib::http {

const bool can_load = false;

void* library_function(const char* /*name*/) {
  throw Error("This ibtool is a static program, which has no HTTP server: use the shared one for this");
}

}  // namespace ib::http
