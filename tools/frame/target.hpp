// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the words of a command line say of nodes and ports. Targets (targets.hpp) reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "path/path.hpp"

namespace ib::tools {

/// A node or port that the command line names.
struct Target {
  std::optional<std::string> word;  ///< as it was given
  std::optional<path::Path> path;   ///< ibtool's dialect: the path in the text. Parts that the SA must resolve may be missing

  bool given() const { return word.has_value(); }
  /// The word; empty where none was given.
  std::string text() const { return word.value_or(""); }
};

/// TARGET@PORT.
struct TargetPort {
  Target target;
  std::optional<std::uint8_t> port;
};

/// The path of a target, and the word or name that stands for it.
struct NamedPath {
  path::Path path;
  std::string name;
};

}  // namespace ib::tools
