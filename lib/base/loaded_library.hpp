// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A shared library that is loaded when one of its functions is first called, not at program start. Only libmicrohttpd is: it needs
// gnutls, which takes more than a millisecond to load, and only the exporter calls it. All other libraries are linked.
// A layer that uses such a library defines the functions that it calls under their own names, and each passes its call on:
//
//   const LoadedLibrary library{"libmicrohttpd.so.12", "libmicrohttpd12"};
//   MHD_Result MHD_run(MHD_Daemon* daemon) { return passed_on<MHD_run, library>("MHD_run", daemon); }
#pragma once

namespace ib {

struct LoadedLibrary {
  const char* file;     ///< "libmicrohttpd.so.12"
  const char* package;  ///< the package of Debian that has it
  const char* purpose;  ///< what it is needed for: "HTTP server"
  /// Whether this program can load libraries. A static one cannot.
  static const bool can_load;
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
