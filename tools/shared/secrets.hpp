// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The remark in a listing whose keys are hidden.
#pragma once

#include <string_view>

#include "iba/secrets.hpp"

namespace ib::tools {

/// A comment line that names -K, if the structure has keys that `keys` hides. Otherwise empty.
inline std::string_view secrets_note(Bytes bytes, const StructInfo& info, Keys keys) {
  return keys == Keys::hidden && has_secrets(bytes, info) ? "# A key is set but not displayed: -K shows it\n" : "";
}

}  // namespace ib::tools
