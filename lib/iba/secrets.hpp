// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which bytes of a structure are keys that are not to be shown. The definitions mark the fields (secret="yes" in iba-defs/);
// a key that is zero, or that everybody knows, hides nothing and is printed as any other number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// What stands in the place of a key's value.
inline constexpr std::string_view hidden_text = "<not displayed>";

/// Whether `field` of the structure that `bytes` are holds a key that is set to a value of its own. Missing bytes count as zero.
bool holds_secret(Bytes bytes, const FieldInfo& field);

/// Whether any field of a structure, or of one that it holds, does.
bool has_secrets(Bytes bytes, const StructInfo& info);

/// The structure with zeros in the place of such keys. Bytes behind its end stay as they are.
std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info);

/// Where the marked fields of a structure stand, set or not.
struct SecretPlace {
  std::size_t offset;  ///< in bytes from the beginning of the structure
  std::size_t size;
};
std::vector<SecretPlace> secret_places(const StructInfo& info);

}  // namespace ib
