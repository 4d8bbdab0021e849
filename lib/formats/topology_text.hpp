// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet as text in the topology format of ibtool or of infiniband-diags: a block for each node, a line for each linked port. Also the
// one-line listings of nodes. The functions append to a buffer of the caller. The caller writes the buffer out from time to time, so that
// the text of a large fabric is never in memory as a whole.
//
// Such a listing is also read back into a model, in the form of ibtool or of infiniband-diags: nodes with their descriptions,
// links, port GUIDs, LIDs, LMCs and the rate of each link (Node::is_listed). All else is not known: states, what ports support, ports
// without a link.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/chassis.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"

namespace ib::formats {

/// The text of a rate: "4xQDR"; "?" for unknown parts.
std::string rate_text(const subnet::LinkRate& rate);

/// The text of a dialect.
class TopologyWriter {
 public:
  /// Adds speed, width and VL codes to each link.
  bool full = false;
  /// Names boxes, slots and external ports if not null.
  const subnet::Grouping* grouping = nullptr;
  std::time_t time{};  ///< of the fabric, for the comment at the top

  /// Appends the whole topology: the comment at the top, and the blocks of `nodes`, box by box if there is a grouping. `drain` is called
  /// from time to time. It may remove the text from `out`.
  void topology(std::string& out, std::span<const subnet::NodeIndex> nodes, const std::function<void()>& drain) const;
  /// Appends the block of a node without an empty line around it.
  void node(std::string& out, subnet::NodeIndex at) const;
  /// Appends the block of a node without its ports.
  virtual void head(std::string& out, subnet::NodeIndex at) const = 0;
  /// Appends the line of a linked port.
  virtual void link(std::string& out, subnet::PortIndex at) const = 0;
  /// Appends the line of a node: `Ca      : GUID ports 1 devid 0x673c vendid 0x2c9 "name"`.
  virtual void listed(std::string& out, subnet::NodeIndex at) const = 0;
  /// Appends one line for each known port, with the other end of its link.
  virtual void ports(std::string& out, subnet::NodeIndex at) const = 0;
  /// Appends the line `numports = 8`, for the comparison of two fabrics.
  void num_ports(std::string& out, subnet::NodeIndex at) const;

 protected:
  /// `lists_all`: a box has its boards outside of the tables of slots too (Chassis::unlisted), and each of its sections ends with an empty
  /// line.
  TopologyWriter(const subnet::Subnet& subnet, const subnet::NodeNameMap* names, bool lists_all)
      : subnet_(subnet), names_(names), lists_all_(lists_all) {}
  ~TopologyWriter() = default;

  virtual void header(std::string& out) const = 0;
  /// Appends the heading of a box: `Chassis 1 (guid GUID)`.
  virtual void chassis(std::string& out, const subnet::Chassis& box) const = 0;
  void codes(std::string& out, const subnet::Port& port, bool has_speed) const;
  std::string extension(subnet::PortIndex at) const;
  std::string port0(subnet::NodeIndex at, bool is_switch) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap* names_;
  bool lists_all_;
};

/// The text of ibtool, with GUIDs in three-colon form.
class TopologyText final : public TopologyWriter {
 public:
  /// Both arguments must outlive the object. `names` may be null.
  TopologyText(const subnet::Subnet& subnet, const subnet::NodeNameMap* names) : TopologyWriter(subnet, names, true) {}

  std::optional<unsigned> max_hops;  ///< for the comment at the top

  void head(std::string& out, subnet::NodeIndex at) const override;
  void link(std::string& out, subnet::PortIndex at) const override;
  void listed(std::string& out, subnet::NodeIndex at) const override;
  void ports(std::string& out, subnet::NodeIndex at) const override;
  /// Appends the line of a switch: `Switch  : GUID ports 8 "name" base port 0 lid 2 lmc 0`.
  void summary(std::string& out, subnet::NodeIndex at) const;

 private:
  void header(std::string& out) const override;
  void chassis(std::string& out, const subnet::Chassis& box) const override;
  std::string name(subnet::NodeIndex at) const;
  std::string port_name(subnet::PortIndex at) const;
};

/// A directed route in the format of libibnetdisc: "DR path slid 0; dlid 0; 0,1,3".
std::string libibnetdisc_route(std::span<const std::uint8_t> ports);

/// The text of infiniband-diags' ibnetdiscover, with hexadecimal GUIDs. In descriptions, a blank replaces each character that cannot be
/// printed; they are cut to 63 characters.
class DiagsTopology final : public TopologyWriter {
 public:
  /// Both arguments must outlive the object.
  DiagsTopology(const subnet::Subnet& subnet, const subnet::NodeNameMap* names) : TopologyWriter(subnet, names, false) {}

  const subnet::LegacySweep* sweep = nullptr;  ///< -m: the sweep whose counts are printed

  void head(std::string& out, subnet::NodeIndex at) const override;
  void link(std::string& out, subnet::PortIndex at) const override;
  void listed(std::string& out, subnet::NodeIndex at) const override;
  void ports(std::string& out, subnet::NodeIndex at) const override;
  /// Appends the last line of a head, without its line break.
  void detail(std::string& out, subnet::NodeIndex at) const;
  /// A line of -s: "DR path slid 0; dlid 0; 0,1 -> new Switch {…} portnum 0 lid 0-0 """.
  void step(std::string& out, const subnet::LegacyStep& step) const;

 private:
  void header(std::string& out) const override;
  void chassis(std::string& out, const subnet::Chassis& box) const override;
  std::string clean(subnet::NodeIndex at) const;
  std::string name(subnet::NodeIndex at) const { return diags_node_name(subnet_.node(at), *names_); }
  bool as_switch(subnet::NodeIndex at) const;
  std::vector<std::string> hosts(const subnet::Chassis& box) const;
  void ids(std::string& out, subnet::NodeIndex at) const;
  std::string rate(subnet::PortIndex at, subnet::PortIndex end_port, std::string_view between) const;
};

/// Whether `text` looks like such a listing: its first line that is not empty is a comment or `vendid=…`.
bool is_topology_text(std::string_view text);

/// Fills `subnet`, which must be empty. Throws UsageError with the number of an invalid line, or with the name of the part that is missing.
void read_topology_text(std::string_view text, subnet::Subnet& subnet);

}  // namespace ib::formats
