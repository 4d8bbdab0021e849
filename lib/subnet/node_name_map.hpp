// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Node name maps: a site's own names for nodes, by node GUID, in the file format of infiniband-diags and
// OpenSM. One line a node:
//   0x0008f10400411a08  "leaf switch 7"   # comment
// A GUID is a number in C notation, as infiniband-diags reads it, else anything that parse_guid() takes: 0008:f104:0041:1a08.
// A name in quotes ends at the closing quote; without quotes it ends at '#' or the end of the line, blanks at
// its end included. Lines that are empty or begin with '#' say nothing. The first line of a GUID wins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iba/types.hpp"

namespace ib::subnet {

/// Read when no file is named; it need not exist.
inline constexpr const char* default_node_name_map_file = "/etc/infiniband-diags/ib-node-name-map";

class NodeNameMap {
 public:
  NodeNameMap() = default;

  /// A line that does not begin with a GUID.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as it stands in the file
  };

  /// Reads `file`, which may have 16 MiB. Throws as read_regular_file() does.
  static NodeNameMap read(const std::string& file);
  /// Reads the text of a map.
  static NodeNameMap parse(std::string_view text);

  /// The site's name of the node, if the map has one. The view lives as long as the map.
  std::optional<std::string_view> find(Guid node) const;
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  /// The lines that said nothing, in their order.
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

 private:
  std::unordered_map<Guid, std::string> names_;
  std::vector<BadLine> bad_lines_;
};

}  // namespace ib::subnet
