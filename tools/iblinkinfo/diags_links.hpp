// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints the links of nodes in the format of infiniband-diags' iblinkinfo: a heading for each node and a line for each of its ports, or
// with -l complete lines without headings. In descriptions, a blank replaces each character that cannot be printed. Descriptions are cut
// to 63 characters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/chassis.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/node_name_map.hpp"

namespace ib::tools {

/// The text of infiniband-diags' iblinkinfo. The functions append to a buffer of the caller.
class DiagsLinks {
 public:
  /// All arguments must outlive the object. `grouping` has the port numbers on the panels of chassis.
  DiagsLinks(const subnet::Subnet& subnet, const subnet::NodeNameMap& names, const subnet::Grouping& grouping)
      : subnet_(subnet), names_(names), grouping_(grouping) {}

  bool line = false;                             ///< -l: no headings, a line describes both ends of a link
  bool additional = false;                       ///< -p
  bool down = false;                             ///< -d: only ports that are down
  std::function<bool(subnet::PortIndex)> hides;  ///< --filterdownports: selects the down ports that are not printed

  /// Appends the lines of the existing and wanted ports of a node. Each line begins with `prefix`.
  void node(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  /// Appends the heading of a node.
  void heading(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  /// Appends the line of a port. Appends nothing if the port is hidden.
  void port(std::string& out, subnet::PortIndex at, std::string_view prefix = {}) const;
  /// Whether the port exists for infiniband-diags.
  bool exists(subnet::PortIndex at) const;
  /// The number of lines that were cut. infiniband-diags cuts lines that are longer than its buffer.
  unsigned cut() const { return cut_; }
  /// The invalid widths that were found. infiniband-diags prints a warning for each.
  const std::vector<unsigned>& bad_widths() const { return bad_widths_; }

 private:
  std::string name(subnet::NodeIndex at) const;
  Guid guid(subnet::PortIndex at) const;
  std::string external(subnet::PortIndex at) const;
  std::string link(subnet::PortIndex at) const;
  std::string far_end(subnet::PortIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
  const subnet::Grouping& grouping_;
  mutable unsigned cut_{};
  mutable std::vector<unsigned> bad_widths_;
};

}  // namespace ib::tools
