// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet as text in the topology format of ibtool: a block for each node, a line for each linked port, GUIDs in three-colon
// form. Also the one-line listings of nodes. The functions append to a buffer of the caller. The caller writes the buffer out
// from time to time, so that the text of a large fabric is never in memory as a whole.
#pragma once

#include <ctime>
#include <string>

#include "subnet/model/chassis.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"

namespace ib::formats {

/// Appends the GUID in groups: `0002:c903:0000:1491`.
void append_guid(std::string& out, Guid guid);
/// The text of a rate: "4xQDR"; "?" for unknown parts.
std::string to_text(subnet::LinkRate rate);
/// The letter of the node type: 'H' for a CA, 'S' for a switch, 'R' for a router, '?' for others.
char type_letter(const subnet::Node& node);
/// The node type in listings: `Ca`, `Switch`, `Router`, `??9`.
std::string type_name(const subnet::Node& node);

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
  void ids(std::string& out, subnet::NodeIndex at) const;
  void port_name(std::string& out, subnet::PortIndex at) const;
  std::string_view port0_kind(const subnet::Node& node) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap* names_;
};

}  // namespace ib::formats
