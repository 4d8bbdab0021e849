// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/query/field_assignments.hpp"

#include <string_view>

#include "iba/generic.hpp"

namespace ib::tools {
namespace {

void add_fields(std::vector<std::string>& words, const StructInfo& info, const std::string& before) {
  for (const FieldInfo& field : info.fields) {
    const std::string name = before + std::string(field.iba_name);
    if (field.reserved || field.changes) continue;
    if (field.count > 1) {
      words.push_back(name + "[");
    } else if (field.structure != nullptr) {
      add_fields(words, *field.structure, name + ".");
    } else {
      words.push_back(name + "=");
    }
  }
}

}  // namespace

std::vector<std::string> field_assignments(const StructInfo& info) {
  std::vector<std::string> words;
  add_fields(words, info, {});
  return words;
}

std::vector<std::string> separate_assignments(const std::vector<std::string>& words, const StructInfo& info) {
  std::vector<std::string> separate;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    for (std::size_t comma = word.find(','); comma != std::string::npos; comma = word.find(',', comma + 1)) {
      const std::string_view rest = std::string_view(word).substr(comma + 1);
      const std::size_t equals = rest.find('=');
      if (equals == std::string_view::npos || !find_path(info, rest.substr(0, equals))) continue;
      separate.push_back(word.substr(begin, comma - begin));
      begin = comma + 1;
    }
    separate.push_back(word.substr(begin));
  }
  return separate;
}

}  // namespace ib::tools
