// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Node name maps: a site's own names for its nodes, by node GUID, in the file format of infiniband-diags and OpenSM. Each node
// has one line:
//   0x0008f10400411a08  "leaf switch 7"   # comment
// A GUID is a number in C notation, as in infiniband-diags, or any form of parse_guid(): 0008:f104:0041:1a08. A name in quotes
// ends at the closing quote. A name without quotes ends at '#' or at the end of the line, and includes trailing blanks. Empty
// lines and lines that begin with '#' are ignored. The first line of a GUID applies.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iba/types.hpp"

namespace ib::subnet {

/// The files of a site: where rdma-core has it, and where infiniband-diags had it before it became a part of that. None need exist.
inline constexpr std::array node_name_map_files{"/etc/rdma/ib-node-name-map", "/etc/infiniband-diags/ib-node-name-map"};

/// The names in one map.
class NodeNameMap {
 public:
  NodeNameMap() = default;

  /// A line that does not begin with a GUID.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as in the file
  };

  /// Reads `file`, which may have up to 16 MiB. Throws as read_regular_file() does.
  static NodeNameMap read(const std::string& file);
  static NodeNameMap read_as_diags(const std::string& file);
  /// Parses the text of a map.
  static NodeNameMap parse(std::string_view text);
  /// The same as infiniband-diags does: the GUID is a number as strtoull(…, 0) reads it, '"' and '#' before the name are passed over alike,
  /// a line ends after 255 bytes, and nothing is read beyond the first wrong line.
  static NodeNameMap parse_as_diags(std::string_view text);

  /// The site's name of the node, if the map has one. The view is valid as long as the map.
  std::optional<std::string_view> find(Guid node) const;
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  /// The ignored wrong lines in their order.
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

 private:
  std::unordered_map<Guid, std::string> names_;
  std::vector<BadLine> bad_lines_;
};

}  // namespace ib::subnet
