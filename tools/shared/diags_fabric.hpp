// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by the infiniband-diags programs that read a fabric: the names of nodes, the text for a link, and the texts of ibnetdiscover: the
// topology file, the list of nodes and the report on ports. GUIDs are hexadecimal. In descriptions, a blank replaces each character that
// cannot be printed; they are cut to 63 characters.
#pragma once

#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/escape.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"

namespace ib::tools {

/// The name of the node in the node name map of the site, else its description.
inline std::string diags_node_name(const subnet::NodeNameMap& names, Guid node, std::string_view description) {
  const auto mapped = names.find(node);
  return mapped ? printable_words(*mapped) : printable(description);
}
/// The name of a node of the model: that in the node name map of the site, else its description.
inline std::string diags_node_name(const subnet::Node& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.guid(), node.description());
}

/// "( 4X          10.0 Gbps Active/  LinkUp)"; no width and speed of a port that is down. Without `known` their codes are 0.
std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex port, bool known = true);

/// "Could be 12X " if both ends of the link support more than the link uses, otherwise " ". The port must have a peer.
std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex port);

/// The text of infiniband-diags' ibnetdiscover, with nodes in the order of infiniband-diags. The functions append to a buffer of the
/// caller.
class DiagsTopology {
 public:
  /// Both arguments must outlive the object.
  DiagsTopology(const subnet::Subnet& subnet, const subnet::NodeNameMap& names) : subnet_(subnet), names_(names) {}

  bool full = false;                           ///< -f
  const subnet::Grouping* grouping = nullptr;  ///< -g
  const subnet::LegacySweep* sweep = nullptr;  ///< -m: the sweep whose counts are printed
  std::time_t time{};                          ///< of the fabric, for the comment at the top

  /// Appends the whole topology: the comment at the top, and the blocks of `nodes`, sorted by kind, or by chassis if there is a grouping.
  /// `drain` is called from time to time. It may remove the text from `out`.
  void topology(std::string& out, std::span<const subnet::NodeIndex> nodes, const std::function<void()>& drain) const;
  /// Appends the block of a node. `host` is the name of the host to which a Xsigo box belongs, or empty. Each line begins with `prefix`.
  void block(std::string& out, subnet::NodeIndex at, std::string_view host = {}, std::string_view prefix = {}) const {
    block(out, at, is_switch(at), host, prefix);
  }
  /// Appends the block without its ports. The last line begins with `prefix`.
  void head(std::string& out, subnet::NodeIndex at, std::string_view prefix) const { head(out, at, is_switch(at), {}, {}, prefix); }
  /// Appends the last line of a head, without its line break.
  void detail(std::string& out, subnet::NodeIndex at, std::string_view prefix) const { detail(out, at, is_switch(at), prefix); }
  void port(std::string& out, subnet::PortIndex at, std::string_view prefix) const {
    port(out, at, is_switch(subnet_.port(at).node), prefix);
  }
  void listed(std::string& out, subnet::NodeIndex at) const;
  void ports(std::string& out, subnet::NodeIndex at) const;
  /// A line of -s: "DR path slid 0; dlid 0; 0,1 -> new Switch {…} portnum 0 lid 0-0 """.
  void step(std::string& out, const subnet::LegacyStep& step) const;

 private:
  std::string clean(subnet::NodeIndex at) const;
  std::string name(subnet::NodeIndex at) const;
  bool is_switch(subnet::NodeIndex at) const { return subnet_.node(at).kind() == subnet::NodeKind::sw; }
  void header(std::string& out) const;
  void chassis(std::string& out, const subnet::Chassis& box) const;
  // `as_switch`: infiniband-diags prints every board in a slot as a switch. An adapter has no port 0, so that it is printed without LID and
  // speed.
  void block(std::string& out, subnet::NodeIndex at, bool as_switch, std::string_view host, std::string_view prefix) const;
  void head(std::string& out, subnet::NodeIndex at, bool as_switch, std::string_view host, std::string_view prefix,
            std::string_view detail_prefix) const;
  void ids(std::string& out, subnet::NodeIndex at, std::string_view host, std::string_view prefix) const;
  void detail(std::string& out, subnet::NodeIndex at, bool as_switch, std::string_view prefix) const;
  void port(std::string& out, subnet::PortIndex at, bool as_switch, std::string_view prefix) const;
  std::string rate(subnet::PortIndex at, subnet::PortIndex end_port, std::string_view between) const;
  std::string external(subnet::PortIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
};

}  // namespace ib::tools
