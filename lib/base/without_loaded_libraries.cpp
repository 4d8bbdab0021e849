// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a static program has in the place of loaded_library.cpp: it cannot load libraries, because they need a C library of their own.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/loaded_library.hpp"

namespace ib {

const bool LoadedLibrary::can_load = false;

void* LoadedLibrary::find(const char*) const {
  throw Error(fmt::format("This ibtool is a static program, which has no {}: use the shared one for this", purpose));
}

}  // namespace ib
