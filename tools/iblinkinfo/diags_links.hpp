// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The links of nodes as infiniband-diags' iblinkinfo prints them: a heading for each node and a line for each of its ports, or lines that
// stand alone (-l). Descriptions have a blank for what can not be printed and are cut to 63 characters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/chassis.hpp"
#include "subnet/model.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::tools {

/// The text of infiniband-diags' iblinkinfo. The functions append to a buffer of the caller.
class DiagsLinks {
 public:
  /// All must outlive the object. `grouping` has the port numbers on the panels of chassis.
  DiagsLinks(const subnet::Subnet& subnet, const subnet::NodeNameMap& names, const subnet::Grouping& grouping)
      : subnet_(subnet), names_(names), grouping_(grouping) {}

  bool line = false;                             ///< -l: no headings, all of a link in its line
  bool additional = false;                       ///< -p
  bool down = false;                             ///< -d: ports that are down alone
  std::function<bool(subnet::PortIndex)> hides;  ///< --filterdownports: of the ports that are down, those not to be told of

  /// The ports of a node that exist and are wanted. `prefix` stands before each line.
  void node(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  /// The heading of a node.
  void heading(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  /// The line of a port; nothing for one that is hidden.
  void port(std::string& out, subnet::PortIndex at, std::string_view prefix = {}) const;
  /// Whether infiniband-diags would know the port.
  bool exists(subnet::PortIndex at) const;
  /// How many of the lines so far were cut, as infiniband-diags does with those that are longer than its buffer.
  unsigned cut() const { return cut_; }
  /// The widths so far that are none, of which infiniband-diags warns.
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
