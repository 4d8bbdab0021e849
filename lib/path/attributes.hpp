// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of a path under their names in path specs. One table serves for writing and for reading specs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "path/path.hpp"

namespace ib::path {

/// How the value of an attribute is written in a path spec.
enum class AttributeForm : std::uint8_t {
  decimal,
  hex,
  lid,      ///< decimal, but hexadecimal for multicast LIDs and above
  boolean,  ///< True or False
  secret,   ///< decimal, but written only if keys are shown, because paths appear in logs and error messages
  gid,
  route,  ///< 0:1:2:
};

/// One attribute of a path.
struct Attribute {
  std::string_view name;
  AttributeForm form;
  std::uint64_t limit;  ///< the greatest allowed number; 0 for GIDs and routes
  bool routed;          ///< an IBPath has the attribute
  bool directed;        ///< an IBDRPath has the attribute
  /// Gets the number, or nothing if it is absent. Null for GIDs and routes. `path` must be of a kind that has the attribute.
  std::optional<std::uint64_t> (*get)(const IbPath& path);
  void (*set)(IbPath& path, std::uint64_t value);
  std::optional<Gid> IbPath::*gid;  ///< for GIDs, otherwise null
  std::uint64_t well_known = 0;     ///< of a secret: the public value, which is always written
};

/// All attributes but end_port in the order of path specs: upper case before lower case.
std::span<const Attribute> attributes();

}  // namespace ib::path
