// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Node name maps: a site's own names for nodes, by node GUID, in the file format of infiniband-diags and
// OpenSM. One line a node:
//   0x0008f10400411a08  "leaf switch 7"   # comment
// A name in quotes ends at the closing quote; without quotes it ends at '#' or the end of the line, blanks at
// its end included. Lines that are empty or begin with '#' say nothing. The first line of a GUID wins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "iba/types.hpp"

namespace ib::subnet {

/// Read when no file is named; it need not exist.
inline constexpr const char* default_node_name_map_file = "/etc/infiniband-diags/ib-node-name-map";

/// A line of the map does not begin with a GUID.
class NodeNameMapError : public UsageError {
 public:
  NodeNameMapError(const std::string& file, std::size_t line_number, std::string line);
  /// The line as it stands in the file.
  const std::string& line() const { return line_; }

 private:
  std::string line_;
};

class NodeNameMap {
 public:
  NodeNameMap() = default;

  /// Reads `file`, which may have 16 MiB. Throws as read_regular_file() does, and NodeNameMapError for a line that can not be
  /// understood.
  static NodeNameMap read(const std::string& file);
  /// Reads the text of a map; `file` is only named in errors.
  static NodeNameMap parse(std::string_view text, const std::string& file);

  /// The site's name of the node, if the map has one. The view lives as long as the map.
  std::optional<std::string_view> find(Guid node) const;
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }

 private:
  std::unordered_map<Guid, std::string> names_;
};

}  // namespace ib::subnet
