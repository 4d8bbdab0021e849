// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The topology file of infiniband-diags' ibnetdiscover, its listing of nodes and its report on ports: hexadecimal GUIDs,
// its own order of nodes, descriptions with a blank for what can not be printed and cut to 63 characters.
#pragma once

#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "subnet/chassis.hpp"
#include "subnet/node_name_map.hpp"
#include "subnet/order.hpp"

namespace ib::tools {

struct CommonOptions;

/// The text of infiniband-diags' ibnetdiscover. The functions append to a buffer of the caller.
class DiagsTopology {
 public:
  /// Both must outlive the object.
  DiagsTopology(const subnet::Subnet& subnet, const subnet::NodeNameMap& names) : subnet_(subnet), names_(names) {}

  bool full = false;                           ///< -f
  const subnet::Grouping* grouping = nullptr;  ///< -g
  const subnet::LegacySweep* sweep = nullptr;  ///< -m: counts to report

  /// All of the topology: the comment at the top, then the blocks of `nodes`, by kind, or by chassis where there is a grouping. `drain` is
  /// called now and then; it may take what stands in `out`.
  void topology(std::string& out, std::span<const subnet::NodeIndex> nodes, const std::function<void()>& drain) const;
  /// The comment at the top.
  void header(std::string& out, std::time_t now) const;
  /// The block of a node; `host` names the one that its box belongs to (Xsigo), or is empty. Each line begins with `prefix`.
  void block(std::string& out, subnet::NodeIndex at, std::string_view host = {}, std::string_view prefix = {}) const;
  /// What the lines of a head begin with: those of IDs, and the last one.
  struct Prefixes {
    std::string_view ids, detail;
  };
  /// The block without its ports.
  void head(std::string& out, subnet::NodeIndex at, const Prefixes& prefixes, std::string_view host = {}) const;
  /// The last line of a head, without its end.
  void detail(std::string& out, subnet::NodeIndex at, std::string_view prefix) const;
  /// The line of a port that is linked.
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
  void switch_port(std::string& out, subnet::PortIndex at) const;
  void end_port(std::string& out, subnet::PortIndex at) const;
  std::string rate(subnet::PortIndex at, std::string_view between) const;
  std::string external(subnet::PortIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
};

/// Sets `common` as ibnetdiscover of infiniband-diags would be called with `words` by a script: options and their values. Throws as
/// DiagsOptions::parse() does.
void read_ibnetdiscover_words(std::vector<std::string> words, CommonOptions& common);

}  // namespace ib::tools
