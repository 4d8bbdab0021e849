// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names for people: of nodes (the site's name or the node's description, a word for the kind, the route to one of several with a GUID), and
// the labels of ports. Files of a site's names are read by formats/node_name_map.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iba/types.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

class NodeNameMap {
 public:
  /// A line of the file that does not begin with a GUID.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as in the file
  };

  void add(Guid node, std::string_view name) { names_.try_emplace(node, name); }
  void add_bad_line(BadLine line) { bad_lines_.push_back(std::move(line)); }

  /// The site's name of the node, if the map has one. The view is valid as long as the map.
  std::optional<std::string_view> find(Guid node) const {
    const auto found = names_.find(node);
    return found == names_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

 private:
  std::unordered_map<Guid, std::string> names_;
  std::vector<BadLine> bad_lines_;
};

/// The name of `node` in `map` (which may be null), else the node's description. Not escaped.
inline std::string_view name_of(const Node& node, const NodeNameMap* map) {
  if (map != nullptr && !map->empty()) {
    if (const auto name = map->find(node.guid())) return *name;
  }
  return node.description();
}

/// The name of a node in texts of infiniband-diags: in the node name map of the site, else its description (base/escape.hpp: printable()).
std::string diags_node_name(const NodeNameMap& names, Guid node, std::string_view description);
std::string diags_node_name(const Node& node, const NodeNameMap& names);

/// Whether a channel adapter is an Aggregation Node inside of a switch (SHARP), and no host.
inline bool is_aggregation_node(const Node& node) {
  return node.has_description && node.description().find("Aggregation Node") != std::string_view::npos;
}

/// The kind of a node in the ports report: `CA`, `SW`, `RT`.
inline std::string_view short_type(const Node& node) {
  constexpr std::array<std::string_view, 4> words{"??", "CA", "SW", "RT"};
  return words[static_cast<std::size_t>(node.kind())];
}

/// The label of a port of a switch: "22", of Quantum split ports "11/2", of Quantum-2 "1/11/2" (chip, cage, port) and split "1/11/2/1".
/// Empty where no rule is known: port 0, ports inside of a box, chips of directors, nodes that are not switches, other devices.
std::string port_label(const Subnet& subnet, PortIndex port);

/// The route from the start of the sweep, " (route 0,2,1)", which says which of the nodes with one GUID is meant: their names and LIDs may
/// be the same, too. Empty for a node whose GUID no other one claims.
std::string twin_mark(const Subnet& subnet, NodeIndex node);

}  // namespace ib::subnet
