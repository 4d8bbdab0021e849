// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of a path as path specs name them: one table, from which specs are written and by which they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "path/path.hpp"

namespace ib::path {

enum class AttributeForm : std::uint8_t {
  decimal,
  hex,
  lid,      ///< decimal, but hexadecimal from the multicast range on
  boolean,  ///< True or False
  secret,   ///< decimal, but written only where keys are shown: paths stand in logs and error messages
  gid,
  route,  ///< 0:1:2:
};

struct Attribute {
  std::string_view name;
  AttributeForm form;
  std::uint64_t limit;  ///< the greatest number allowed; 0 for GIDs and routes
  bool routed;          ///< an IBPath has it
  bool directed;        ///< an IBDRPath has it
  /// The number; nothing where it is absent. Null for GIDs and routes. `path` must be of a kind that has the attribute.
  std::optional<std::uint64_t> (*get)(const IbPath& path);
  void (*set)(IbPath& path, std::uint64_t value);
  std::optional<Gid> IbPath::*gid;  ///< of GIDs, else null
  std::uint64_t well_known = 0;     ///< of a secret: the value that is written all the same, since everybody knows it
};

/// All attributes but end_port, in the order that specs have: upper case before lower case.
std::span<const Attribute> attributes();

}  // namespace ib::path
