// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/secrets.hpp"

#include <algorithm>

#include "iba/generic.hpp"

namespace ib::tools {
namespace {

bool is_secret(const FieldInfo& field) { return field.name == "m_key" || field.name == "service_key"; }

/// Calls `found` with the name and the bytes of each secret that is not zero.
template <class Bytes_, class Found>
void for_each_secret(Bytes_ bytes, const StructInfo& info, const Found& found) {
  for (const FieldInfo& field : info.fields) {
    const std::size_t at = std::min<std::size_t>(field.bit_offset / 8, bytes.size());
    const Bytes_ part = bytes.subspan(at, std::min<std::size_t>(field.bits / 8, bytes.size() - at));
    if (is_secret(field)) {
      if (std::ranges::any_of(part, [](std::uint8_t byte) { return byte != 0; })) found(field.name, part);
    } else if (field.structure != nullptr && field.count == 1) {
      for_each_secret(part, *field.structure, found);
    }
  }
}

}  // namespace

std::vector<std::string_view> secrets_in(Bytes bytes, const StructInfo& info) {
  std::vector<std::string_view> names;
  for_each_secret(bytes, info, [&](std::string_view name, Bytes) { names.push_back(name); });
  return names;
}

std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info) {
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  for_each_secret(MutableBytes(copy), info, [](std::string_view, MutableBytes key) { std::ranges::fill(key, std::uint8_t{0}); });
  return copy;
}

std::string_view secrets_note(const std::vector<std::string_view>& secrets) {
  if (secrets.empty()) return {};
  return secrets.front() == "m_key" ? "# The M_Key is set but not displayed: -K shows it\n"
                                    : "# The service key is set but not displayed: -K shows it\n";
}

}  // namespace ib::tools
