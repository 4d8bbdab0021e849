// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet as text, in the topology format of ibtool: a block for each node, a line for each linked port, GUIDs in
// three-colon form. Also the one-line listings of nodes. The functions append to a buffer of the caller, who writes it
// out now and then: the text of a large fabric is never in memory as a whole.
#pragma once

#include <ctime>
#include <string>

#include "subnet/chassis.hpp"
#include "subnet/model.hpp"
#include "subnet/node_name_map.hpp"
#include "subnet/rate.hpp"

namespace ib::subnet {

/// Appends `0002:c903:0000:1491`.
void append_guid(std::string& out, Guid guid);
/// "4xQDR"; "?" stands for what is not known.
std::string to_text(LinkRate rate);
/// 'H' for a CA, 'S' for a switch, 'R' for a router, '?' for others.
char type_letter(const Node& node);
/// `Ca`, `Switch`, `Router`, `??9`, as listings name the type.
std::string type_name(const Node& node);

class TopologyText {
 public:
  /// All must outlive the object; `names` may be null.
  TopologyText(const Subnet& subnet, const NodeNameMap* names) : subnet_(subnet), names_(names) {}

  /// Adds speed, width and VL codes to each link.
  bool full = false;
  /// Names boxes, slots and external ports.
  const Grouping* grouping = nullptr;

  /// The comment at the top.
  void header(std::string& out, std::time_t now) const;
  /// The block of a node, without an empty line after it.
  void node(std::string& out, NodeIndex at) const;
  /// The block without its ports.
  void head(std::string& out, NodeIndex at) const;
  /// The line of a port that is linked.
  void link(std::string& out, PortIndex at) const;
  /// `Ca      : GUID ports 1 devid 0x673c vendid 0x2c9 "name"`
  void listed(std::string& out, NodeIndex at) const;
  /// `Switch  : GUID ports 8 "name" base port 0 lid 2 lmc 0`
  void summary(std::string& out, NodeIndex at) const;
  /// One line for each port that is known, with what it is linked to.
  void ports(std::string& out, NodeIndex at) const;
  /// `Chassis 1 (guid GUID)`
  void chassis(std::string& out, const Chassis& box) const;

 private:
  std::string name(NodeIndex at) const;
  void ids(std::string& out, NodeIndex at) const;
  void port_name(std::string& out, PortIndex at) const;
  std::string_view port0_kind(const Node& node) const;

  const Subnet& subnet_;
  const NodeNameMap* names_;
};

}  // namespace ib::subnet
