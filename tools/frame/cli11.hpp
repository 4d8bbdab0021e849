// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// CLI11 without <iostream>, which it includes for default arguments that are not used here: App::exit() prints to std::cout. With that
// header the program would construct eight streams and a locale at each start, before main(): 14 of 150 page faults of `ibaddr --version`.
#pragma once

#include <istream>
#include <ostream>

#ifdef __GLIBCXX__
#define _GLIBCXX_IOSTREAM 1  // the include guard of libstdc++'s header
namespace std {
extern istream cin;
extern ostream cout, cerr;
}  // namespace std
#endif

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
