// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// libmicrohttpd as a shared library that is loaded when the first server is made, not at program start: it needs gnutls, which takes more
// than a millisecond to load, and only the exporter serves. All other libraries are linked.
#pragma once

namespace ib::http {

/// Whether this program can load the library, and so be a server. A static one cannot.
extern const bool can_load;

/// The function `name` of the library. Throws Error if the library cannot be loaded, or has no such function.
void* library_function(const char* name);

}  // namespace ib::http
