// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A shared library that is loaded when one of its functions is first called, not at program start. Most commands never call
// it, and would map and relocate it, and what it needs itself, in each run. Linked, libsqlite3, which needs nothing but libc and
// libm, made `ibaddr --version` 14 % dearer: 10.7 ms of CPU in place of 9.4 ms, 20 more page faults (means of 3000 runs of each
// in turn, measured as tests/bench/start.py does, on two busy cores).
// A layer that uses such a library defines the functions that it calls under their own names, and each passes its call on:
//
//   const LoadedLibrary library{"libsqlite3.so.0", "libsqlite3-0"};
//   int sqlite3_step(sqlite3_stmt* statement) { return passed_on<sqlite3_step, library>("sqlite3_step", statement); }
#pragma once

namespace ib {

struct LoadedLibrary {
  const char* file;     ///< "libibverbs.so.1"
  const char* package;  ///< the package of Debian that has it
  /// The library's function `name`. Throws Error if the library cannot be loaded, or has no such function.
  void* find(const char* name) const;
};

/// Calls the function `name` of `library`. `declared` is the function that calls this, for its type.
template <auto declared, const LoadedLibrary& library, class... Arguments>
auto passed_on(const char* name, Arguments... arguments) {
  static const auto function = reinterpret_cast<decltype(declared)>(library.find(name));
  return function(arguments...);
}

}  // namespace ib
