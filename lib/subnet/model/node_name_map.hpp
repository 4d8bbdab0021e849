// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A site's own names for its nodes, by node GUID. Files of such names are read by formats/node_name_map.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iba/types.hpp"

namespace ib::subnet {

class NodeNameMap {
 public:
  /// A line of the file that does not begin with a GUID.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as in the file
  };

  /// Names a node. Does nothing if it has a name already.
  void add(Guid node, std::string_view name) { names_.try_emplace(node, name); }
  void add_bad_line(BadLine line) { bad_lines_.push_back(std::move(line)); }

  /// The site's name of the node, if the map has one. The view is valid as long as the map.
  std::optional<std::string_view> find(Guid node) const {
    const auto found = names_.find(node);
    return found == names_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  /// The ignored wrong lines in their order.
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

 private:
  std::unordered_map<Guid, std::string> names_;
  std::vector<BadLine> bad_lines_;
};

}  // namespace ib::subnet
