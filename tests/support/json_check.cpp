// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/json_check.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "man/json_words.hpp"
#include "tools/frame/emit.hpp"

namespace ibtest {
namespace {

using ib::FieldInfo;
using ib::FieldKind;
using ib::StructInfo;
using ib::tools::JsonType;
using ib::tools::JsonWord;
using nlohmann::json;

/// struct ib_user_mad_hdr of the kernel, of which iba-defs knows nothing.
constexpr std::array<std::string_view, 17> umad_names{
    "agent_id", "status",    "timeout_ms",  "retries",   "length",    "qpn",           "qkey",       "lid",       "sl",
    "gid",      "path_bits", "grh_present", "gid_index", "hop_limit", "traffic_class", "flow_label", "pkey_index"};

bool is_hex(const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}
/// Whether the field, or the word of its number, is one that only other layouts of the same attribute have. A table has the columns of all
/// of them.
bool is_of_other_layout(const StructInfo& info, const std::string& name) {
  const auto has = [](const StructInfo& layout, const std::string& member) {
    return std::ranges::any_of(layout.fields, [&](const FieldInfo& field) {
      return !field.reserved && (field.name == member || (field.enumeration != nullptr && std::string(field.name) + "_text" == member));
    });
  };
  return !has(info, name) && std::ranges::any_of(ib::all_structs(), [&](const StructInfo& other) {
    return other.mgmt_class == info.mgmt_class && other.attribute_id == info.attribute_id && has(other, name);
  });
}
/// Whether the numbers of the field are texts: keys, masks and IDs that do not fit a double.
bool is_text_of_digits(const FieldInfo& field) { return field.kind == FieldKind::uint && field.bits > 32 && !field.counter; }
bool is_hex64(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() == 18 && value.get_ref<const std::string&>().starts_with("0x") &&
         is_hex(value.get_ref<const std::string&>().substr(2));
}
bool is_guid(const json& value) { return value.is_string() && ib::parse_guid(value.get<std::string>()).has_value(); }
bool is_gid(const json& value) { return value.is_string() && ib::parse_gid(value.get<std::string>()).has_value(); }

bool is_of(JsonType type, const json& value) {
  switch (type) {
    case JsonType::boolean:
      return value.is_boolean();
    case JsonType::integer:
      return value.is_number_integer();
    case JsonType::number:
      return value.is_number();
    case JsonType::text:
      return value.is_string();
    case JsonType::guid:
      return is_guid(value);
    case JsonType::gid:
      return is_gid(value);
    case JsonType::hex:
      return is_hex(value);
    case JsonType::object:
    case JsonType::fields:
      return value.is_object();
  }
  return false;
}

class Checker {
 public:
  Complaints found;

  void object(const std::string& where, const json& members) {
    for (const auto& [key, value] : members.items()) member(where + "." + key, key, value, members);
  }

 private:
  void complain(const std::string& where, const std::string& what, const json& value) {
    found.push_back(where + ": " + what + ": " + value.dump().substr(0, 80));
  }

  void member(const std::string& where, const std::string& key, const json& value, const json& siblings) {
    if (key.ends_with("_text") && ib::tools::find_json_word(key) == nullptr) {
      const std::string number = key.substr(0, key.size() - 5);
      const JsonWord* coded = ib::tools::find_json_word(number);
      if (coded == nullptr || !coded->value.coded || !siblings.contains(number)) complain(where, "no coded value goes with it", value);
      if (!value.is_null() && (!value.is_string() || value == "")) complain(where, "neither a word nor null", value);
      return;
    }
    const JsonWord* word = ib::tools::find_json_word(key);
    if (word == nullptr) return complain(where, "not in the dictionary", value);
    if (word->value.coded && !siblings.contains(key + "_text")) complain(where, "has no " + key + "_text", value);
    if (value.is_null()) return;
    if (!word->value.list) return element(where, *word, value, siblings);
    if (!value.is_array()) return complain(where, "no list", value);
    for (std::size_t at = 0; at < value.size(); ++at) {
      if (!value[at].is_null()) element(where + "[" + std::to_string(at) + "]", *word, value[at], siblings);
    }
  }

  void element(const std::string& where, const JsonWord& word, const json& value, const json& siblings) {
    if (!is_of(word.value.type, value)) return complain(where, "not of type " + type_name(word), value);
    if (word.key == "match") return match(where, value, siblings);
    if (word.key == "umad") return umad(where, value);
    if (word.key == "levels") return levels(where, value);
    if (word.value.type == JsonType::object) return object(where, value);
    if (word.value.type != JsonType::fields) return;
    const StructInfo* info = nullptr;
    for (const char* name : word.key == "mad" ? std::array{"format", "format"} : std::array{"attribute", "structure"}) {
      if (siblings.contains(name) && siblings[name].is_string()) info = ib::find_struct(siblings[name].get<std::string>());
    }
    if (info == nullptr) return complain(where, "nothing names its structure", value);
    structure(where, *info, value);
  }

  void match(const std::string& where, const json& value, const json& siblings) {
    const StructInfo* form = siblings.contains("attribute") ? ib::find_struct(siblings["attribute"].get<std::string>()) : nullptr;
    for (const auto& [name, wanted] : value.items()) {
      const auto coded = name.ends_with("_text") ? value.find(name.substr(0, name.size() - 5)) : value.end();
      if (coded != value.end() && coded->is_number()) continue;
      const auto ref = form != nullptr ? ib::find_path(*form, name) : std::nullopt;
      const std::string last = name.substr(name.rfind('.') + 1);
      if (!ref || ref->field->name != last.substr(0, last.find('['))) complain(where + "." + name, "no such field", wanted);
      const bool is_number = ref && std::holds_alternative<std::uint64_t>(ib::read_path({}, *ref)) && !is_text_of_digits(*ref->field);
      if (is_number && !wanted.is_number() && !wanted.is_null()) complain(where + "." + name, "no number", wanted);
    }
  }

  void umad(const std::string& where, const json& value) {
    for (const auto& [name, number] : value.items()) {
      if (std::ranges::find(umad_names, name) == umad_names.end()) complain(where + "." + name, "no field of the kernel's header", number);
    }
  }

  void levels(const std::string& where, const json& value) {
    if (value.size() != 3) complain(where, "not three levels", value);
    for (const char* name : {"error", "warning", "info"}) {
      if (!value.contains(name) || !value[name].is_number_integer()) complain(where, "no number of the level " + std::string(name), value);
    }
  }

  void structure(const std::string& where, const StructInfo& info, const json& value) {
    std::size_t expected = 0;
    for (const FieldInfo& field : info.fields) {
      if (field.reserved) continue;
      const std::string name(field.name), at = where + "." + name;
      if (!value.contains(name)) {
        complain(where, "lacks the field " + name, value);
        continue;
      }
      ++expected;
      if (field.enumeration != nullptr && field.count == 1) {
        ++expected;
        const std::string word = name + "_text";
        if (!value.contains(word) || !(value[word].is_null() || (value[word].is_string() && value[word] != ""))) {
          complain(at, "has no word, and no null for one", value);
        }
      }
      field_value(at, field, value[name]);
    }
    for (const auto& [name, of_other] : value.items()) expected += of_other.is_null() && is_of_other_layout(info, name) ? 1 : 0;
    if (value.size() != expected) complain(where, "has members that " + std::string(info.iba_name) + " has not", value);
  }

  void field_value(const std::string& where, const FieldInfo& field, const json& value) {
    if (value.is_null() && field.secret) return;
    if (field.count == 1) return field_element(where, field, value);
    if (!value.is_array() || value.size() != field.count) return complain(where, "not the list that the field is", value);
    for (const json& one : value) field_element(where, field, one);
  }

  void field_element(const std::string& where, const FieldInfo& field, const json& value) {
    if (value.is_object()) {
      const StructInfo* inner = field.structure != nullptr ? field.structure : fitting(value);
      if (inner == nullptr) return complain(where, "no structure has these fields", value);
      return structure(where, *inner, value);
    }
    bool good = false;
    switch (field.kind) {
      case FieldKind::uint:
        if (is_text_of_digits(field) && field.display != ib::Display::gid_prefix) {
          good = is_hex64(value);
          break;
        }
        [[fallthrough]];
      case FieldKind::lid:
        good = value.is_number_unsigned() || (field.display == ib::Display::gid_prefix && is_gid(value));
        break;
      case FieldKind::guid:
        good = is_guid(value);
        break;
      case FieldKind::gid:
        good = is_gid(value);
        break;
      case FieldKind::text:
        good = value.is_string();
        break;
      case FieldKind::bytes:
        good = is_hex(value);
        break;
      case FieldKind::structure:
        break;
    }
    if (!good) complain(where, "not of the field's type", value);
  }

  /// A structure that has all members of `value`. Only the header of a MAD shows which structure the MAD holds.
  static const StructInfo* fitting(const json& value) {
    for (const StructInfo& info : ib::all_structs()) {
      Checker trial;
      trial.structure("", info, value);
      if (trial.found.empty()) return &info;
    }
    return nullptr;
  }
};

}  // namespace

Complaints word_complaints(const json& document) {
  Checker checker;
  checker.object("", document);
  return checker.found;
}

Complaints frame_complaints(const json& document, const std::string& command, int status) {
  if (!document.is_object()) return {"no object: " + document.dump().substr(0, 80)};
  Complaints found;
  const auto want = [&](const std::string& key, const json& value) {
    if (!document.contains(key) || document[key] != value) found.push_back(key + " is not " + value.dump());
  };
  want("command", command);
  want("schema", ib::tools::json_schema);
  want("status", status);
  const bool failed = status == 2 || status == 3;
  const bool has_error = document.contains("error") && document["error"].is_string() && document["error"] != "";
  if (failed != has_error) found.push_back(failed ? "there is no error" : "there is an error");
  return found;
}

json joined_lines(const std::string& text) {
  json document;
  json lists = json::object();
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!document.is_null()) throw std::runtime_error("a line after the last one: " + line.substr(0, 80));
    json parsed = json::parse(line);
    if (!parsed.contains("list")) {
      document = std::move(parsed);
      continue;
    }
    if (parsed.size() != 4 || !parsed.contains("command") || !parsed.contains("schema") || !parsed.contains("item"))
      throw std::runtime_error("a line that has not just command, schema, list and item: " + line.substr(0, 80));
    lists[parsed["list"].get<std::string>()].push_back(parsed["item"]);
  }
  if (document.is_null()) throw std::runtime_error("no last line");
  for (const auto& [key, list] : lists.items()) {
    if (document.contains(key)) throw std::runtime_error("both a list and in the last line: " + key);
    document[key] = list;
  }
  return document;
}

}  // namespace ibtest
