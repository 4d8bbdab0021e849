// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/loaded_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace ib {

const bool LoadedLibrary::can_load = true;

void* LoadedLibrary::find(const char* name) const {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // the same one each time
  if (library == nullptr) throw Error(fmt::format("{} cannot be loaded ({}): install {}", file, ::dlerror(), package));
  if (void* found = ::dlsym(library, name)) return found;
  throw Error(fmt::format("{} is too old: it has no {}", file, name));
}

}  // namespace ib
