// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet as text in the topology format of ibtool: a block for each node, a line for each linked port, GUIDs in three-colon
// form. Also the one-line listings of nodes. The functions append to a buffer of the caller. The caller writes the buffer out
// from time to time, so that the text of a large fabric is never in memory as a whole.
//
// Such a listing is also read back into a model, in the form of ibtool or of infiniband-diags: nodes with their descriptions,
// links, port GUIDs, LIDs, LMCs and the rate of each link (Node::is_listed). All else is not known: states, what ports support, ports
// without a link.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "subnet/model/chassis.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"

namespace ib::formats {

/// The text of a rate: "4xQDR"; "?" for unknown parts.
std::string rate_text(const subnet::LinkRate& rate);

/// Writes the text of one subnet.
class TopologyText {
 public:
  /// All arguments must outlive the object; `names` may be null.
  TopologyText(const subnet::Subnet& subnet, const subnet::NodeNameMap* names) : subnet_(subnet), names_(names) {}

  /// Adds speed, width and VL codes to each link.
  bool full = false;
  /// Names boxes, slots and external ports if not null.
  const subnet::Grouping* grouping = nullptr;

  /// Appends the comment at the top.
  void header(std::string& out, std::time_t now) const;
  /// Appends the block of a node without an empty line after it.
  void node(std::string& out, subnet::NodeIndex at) const;
  /// Appends the block of a node without its ports.
  void head(std::string& out, subnet::NodeIndex at) const;
  /// Appends the line of a linked port.
  void link(std::string& out, subnet::PortIndex at) const;
  /// Appends the line of a node: `Ca      : GUID ports 1 devid 0x673c vendid 0x2c9 "name"`.
  void listed(std::string& out, subnet::NodeIndex at) const;
  /// Appends the line of a switch: `Switch  : GUID ports 8 "name" base port 0 lid 2 lmc 0`.
  void summary(std::string& out, subnet::NodeIndex at) const;
  /// Appends one line for each known port, with the other end of its link.
  void ports(std::string& out, subnet::NodeIndex at) const;
  /// Appends the heading of a box: `Chassis 1 (guid GUID)`.
  void chassis(std::string& out, const subnet::Chassis& box) const;

 private:
  std::string name(subnet::NodeIndex at) const;
  std::string port_name(subnet::PortIndex at) const;
  std::string extension(subnet::PortIndex at) const;
  std::string port0(subnet::NodeIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap* names_;
};

/// Whether `text` looks like such a listing: its first line that is not empty is a comment or `vendid=…`.
bool is_topology_text(std::string_view text);

/// Fills `subnet`, which must be empty. Throws UsageError with the number of an invalid line, or with the name of the part that is missing.
void read_topology_text(std::string_view text, subnet::Subnet& subnet);

}  // namespace ib::formats
