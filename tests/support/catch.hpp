// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one place that knows which Catch2 is installed. Debian 12 has version 2 (one header), newer
// systems have version 3 (many headers, other matcher names). Tests include this file only and use
// the names below where the two versions differ. Catch2 evaluates an asserted expression more than
// once in a template context: no co_await inside REQUIRE.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // version 2 has it in the global namespace
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace ibtest {

/// A matcher for text that contains `part`: `REQUIRE_THAT(text, contains("LID"))`.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

/// A matcher for text that starts with `part`.
inline auto starts_with(const std::string& part) { return Catch::Matchers::StartsWith(part); }

/// A matcher for text that ends with `part`.
inline auto ends_with(const std::string& part) { return Catch::Matchers::EndsWith(part); }

}  // namespace ibtest
