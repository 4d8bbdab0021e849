// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dictionary of JSON: every key that a report may have, with its one type and its one meaning. The fields of attributes are not in
// it: they have the names and types of iba-defs. A unit test holds the output of all commands against it, and ibtool-json(7) prints it. No
// command reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "report/sink.hpp"

namespace ib::tools {

/// The type of a member of JSON.
enum class JsonType : std::uint8_t {
  boolean,
  integer,
  number,  ///< an integer or a decimal
  text,
  guid,    ///< a text: 0002:c903:0000:1491
  gid,     ///< a text: an IPv6 address
  hex,     ///< a text: two lower-case hex digits a byte
  object,  ///< its members are in the dictionary too
  fields,  ///< an object whose members are the fields of a structure that is named beside it
};

struct JsonValue {
  constexpr JsonValue(JsonType of, bool is_list = false, bool is_coded = false) : type(of), list(is_list), coded(is_coded) {}

  JsonType type;  ///< of the value, or of each element of the list; every value may be null
  bool list;      ///< the value is an array
  bool coded;     ///< a text KEY_text goes with it: the word for the number, or null
};

struct JsonWord {
  std::string_view key;
  JsonValue value;
  std::string_view meaning;
  report::Measure measure{};  ///< of a number, where the report does not give it with the value
};

/// All words, by key.
std::span<const JsonWord> json_words();
/// The word of that key, or null.
const JsonWord* find_json_word(std::string_view key);
/// "integer", "list of objects", …
std::string type_name(const JsonWord& word);

}  // namespace ib::tools
