// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/field_assignments.hpp"

namespace ib::tools {
namespace {

void add_fields(std::vector<std::string>& words, const StructInfo& info, const std::string& before) {
  for (const FieldInfo& field : info.fields) {
    const std::string name = before + std::string(field.iba_name);
    if (field.reserved) continue;
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

}  // namespace ib::tools
