// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A small JSON text as a table of facts: the name of each is a JSON pointer (RFC 6901) to it. It holds objects, arrays, texts and whole
// numbers that are not negative; texts hold the characters U+0000 to U+00FF, each of which stands for a byte.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace ib::snapshot {

/// The bytes as UTF-8, of which each character has the number of a byte.
std::string as_utf8(std::string_view bytes);

class JsonFacts {
 public:
  /// Throws NotFound if the text is not such JSON.
  explicit JsonFacts(std::string_view text);

  /// A fact is missing or is no such thing.
  class NotFound : public std::exception {};

  bool has(std::string_view name) const { return facts_.contains(name); }
  /// The bytes of a text. Throws NotFound.
  const std::string& bytes(std::string_view name) const;
  /// Throws NotFound if there is no such number, or a larger one than T holds.
  template <class T>
  T number(std::string_view name) const {
    return static_cast<T>(number_up_to(name, std::numeric_limits<T>::max()));
  }

 private:
  std::uint64_t number_up_to(std::string_view name, std::uint64_t largest) const;
  void read_value(std::string_view& rest, const std::string& name, unsigned depth);
  void read_members(std::string_view& rest, const std::string& name, unsigned depth, bool is_object);

  std::map<std::string, std::variant<std::uint64_t, std::string>, std::less<>> facts_;
};

}  // namespace ib::snapshot
