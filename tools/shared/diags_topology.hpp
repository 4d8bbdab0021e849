// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The texts of infiniband-diags' ibnetdiscover: the topology file, the list of nodes and the report on ports. GUIDs are hexadecimal. The
// order of nodes is as of infiniband-diags. In descriptions, a blank replaces each character that cannot be printed. Descriptions are
// cut to 63 characters.
#pragma once

#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "subnet/model/chassis.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"

namespace ib::tools {

/// The text of infiniband-diags' ibnetdiscover. The functions append to a buffer of the caller.
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
  /// Appends the comment at the top.
  void header(std::string& out, std::time_t now) const;
  /// Appends the block of a node. `host` is the name of the host to which a Xsigo box belongs, or empty. Each line begins with `prefix`.
  void block(std::string& out, subnet::NodeIndex at, std::string_view host = {}, std::string_view prefix = {}) const;
  /// The beginnings of the lines of a head: the lines with IDs, and the last line.
  struct Prefixes {
    std::string_view ids, detail;
  };
  /// Appends the block without its ports.
  void head(std::string& out, subnet::NodeIndex at, const Prefixes& prefixes, std::string_view host = {}) const;
  /// Appends the last line of a head, without its line break.
  void detail(std::string& out, subnet::NodeIndex at, std::string_view prefix) const;
  /// Appends the line of a linked port.
  void port(std::string& out, subnet::PortIndex at, std::string_view prefix) const;
  void chassis(std::string& out, const subnet::Chassis& box) const;
  void listed(std::string& out, subnet::NodeIndex at) const;
  void ports(std::string& out, subnet::NodeIndex at) const;
  /// A line of -s: "DR path slid 0; dlid 0; 0,1 -> new Switch {…} portnum 0 lid 0-0 """.
  void step(std::string& out, const subnet::LegacyStep& step) const;

 private:
  std::string clean(subnet::NodeIndex at) const;
  std::string name(subnet::NodeIndex at) const;
  void ids(std::string& out, subnet::NodeIndex at, std::string_view host, std::string_view prefix) const;
  void switch_head(std::string& out, subnet::NodeIndex at, const Prefixes& prefixes, std::string_view host) const;
  void switch_detail(std::string& out, subnet::NodeIndex at, std::string_view prefix) const;
  void switch_port(std::string& out, subnet::PortIndex at) const;
  void board(std::string& out, subnet::NodeIndex at, std::string_view host) const;
  void end_port(std::string& out, subnet::PortIndex at) const;
  std::string rate(subnet::PortIndex at, subnet::PortIndex end_port, std::string_view between) const;
  std::string external(subnet::PortIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
};

}  // namespace ib::tools
