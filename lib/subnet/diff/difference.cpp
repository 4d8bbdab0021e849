// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/difference.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "subnet/model/order.hpp"

namespace ib::subnet {

namespace {

using Indexes = std::vector<std::uint32_t>;

Indexes named_end_ports(const Subnet& subnet) {
  Indexes ports =
      subnet.ports_where([&subnet](PortIndex at) { return subnet.end_port_of(at) == at && subnet.end_port_guid(at) != Guid{}; });
  std::ranges::stable_sort(ports, {}, [&subnet](PortIndex at) { return subnet.end_port_guid(at); });
  return ports;
}

LinkEnd end_at(const Subnet& subnet, PortIndex at) { return {subnet.end_port_guid(at), subnet.port(at).number}; }

/// The first ends of all links. Ends that look alike, as the ends at twins do, are in the order of the model.
Indexes links(const Subnet& subnet) {
  std::vector<std::pair<LinkEnds, PortIndex>> found;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const PortIndex peer = subnet.port(at).peer;
    if (peer == none) continue;
    const std::pair here{end_at(subnet, at), at}, there{end_at(subnet, peer), peer};
    if (here >= there) found.emplace_back(LinkEnds{here.first, there.first}, at);
  }
  std::ranges::sort(found);
  Indexes ports;
  for (const auto& [ends, at] : found) ports.push_back(at);
  return ports;
}

struct Running {
  LinkRate rate;
  bool may_be_fdr10{};  ///< the rate is QDR or FDR10
};

Running running(const Subnet& subnet, PortIndex at) { return {active_rate(subnet, at), may_run_at_fdr10(subnet, at)}; }

/// Whether two rates certainly differ. A part that was not read on one side may be the same.
bool differ(const Running& a, const Running& b) {
  if (!a.rate.known() || !b.rate.known()) return false;
  const auto may_be = [](const Running& one, const Running& other) { return one.may_be_fdr10 && other.rate.speed == Speed::fdr10; };
  return a.rate.lanes != b.rate.lanes || (a.rate.speed != b.rate.speed && !may_be(a, b) && !may_be(b, a));
}

class SweepComparison {
 public:
  SweepComparison(const Subnet& current, const Failures& current_failures, const Subnet& reference, const Failures& reference_failures)
      : current_(current), reference_(reference), sweeps_(current, current_failures, reference, reference_failures) {}

  SubnetDifference run() const {
    SubnetDifference result;
    compare_end_ports(result.end_ports);
    compare_nodes(result.nodes);
    compare_links(result);
    compare_lids(result);
    return result;
  }

 private:
  /// Removes from the lists the objects that one of the sweeps may have missed, and counts them.
  template <class MayBe>
  void leave_out_missed(SetDifference& set, MayBe may_be) const {
    set.maybe_added = std::erase_if(set.added, [&](std::uint32_t one) { return may_be(sweeps_.missed_before, current_, one); });
    set.maybe_missing = std::erase_if(set.missing, [&](std::uint32_t one) { return may_be(sweeps_.missed_now, reference_, one); });
  }

  /// An end port is the same if it is of the same node and has the same GUID. Where nodes have changed, one with its GUID is taken for it.
  void compare_end_ports(SetDifference& set) const {
    Indexes now = named_end_ports(current_), before = named_end_ports(reference_);
    set.current = now.size();
    set.reference = before.size();
    const auto guid_now = [this](PortIndex at) { return current_.end_port_guid(at); };
    const auto guid_before = [this](PortIndex at) { return reference_.end_port_guid(at); };
    const auto is_same = [&](PortIndex current, PortIndex was) {
      return current != none && was != none && guid_now(current) == guid_before(was);
    };
    std::erase_if(now, [&](PortIndex at) { return is_same(at, sweeps_.pairs.port_then(at)); });
    std::erase_if(before, [&](PortIndex at) { return is_same(sweeps_.pairs.port_now(at), at); });
    std::ranges::set_difference(now, before, std::back_inserter(set.added), {}, guid_now, guid_before);
    std::ranges::set_difference(before, now, std::back_inserter(set.missing), {}, guid_before, guid_now);
    leave_out_missed(set, [](const Unseen& unseen, const Subnet& of, PortIndex at) { return unseen.node(of.port(at).node); });
  }

  void compare_nodes(SetDifference& set) const {
    const Indexes now = by_guid(current_), before = by_guid(reference_);
    set.current = now.size();
    set.reference = before.size();
    std::ranges::copy_if(now, std::back_inserter(set.added), [this](NodeIndex at) { return sweeps_.pairs.node_then(at) == none; });
    std::ranges::copy_if(before, std::back_inserter(set.missing), [this](NodeIndex at) { return sweeps_.pairs.node_now(at) == none; });
    leave_out_missed(set, [](const Unseen& unseen, const Subnet&, NodeIndex at) { return unseen.node(at); });
  }

  void compare_links(SubnetDifference& result) const {
    const Indexes now = links(current_), before = links(reference_);
    result.links.current = now.size();
    result.links.reference = before.size();
    for (const PortIndex at : before) {
      const PortIndex here = sweeps_.pairs.port_now(at), there = sweeps_.pairs.port_now(reference_.port(at).peer);
      if (here == none || there == none || current_.port(here).peer != there) result.links.missing.push_back(at);
    }
    for (const PortIndex at : now) {
      const PortIndex here = sweeps_.pairs.port_then(at), there = sweeps_.pairs.port_then(current_.port(at).peer);
      if (here == none || there == none || reference_.port(here).peer != there) {
        result.links.added.push_back(at);
      } else if (const Running is = running(current_, at), was = running(reference_, here); differ(is, was)) {
        result.rates.push_back({at, is.rate, was.rate});
      }
    }
    leave_out_missed(result.links, [](const Unseen& unseen, const Subnet&, PortIndex at) { return unseen.link(at); });
  }

  /// Whether `owner`, which has a LID in `other`, may have it in `swept` too, where it is `there`: the sweep missed its node, or did not
  /// read its PortInfo.
  static bool may_have_lid(const Unseen& unseen, const Subnet& swept, PortIndex there, const Subnet& other, PortIndex owner) {
    if (there == none || swept.end_port_guid(there) == Guid{}) return unseen.node(other.port(owner).node);
    return swept.lid(there) == Lid{} && !swept.port(there).has_info;
  }

  bool is_same_owner(PortIndex now, PortIndex before) const {
    if (now == none || before == none || current_.end_port_guid(now) != reference_.end_port_guid(before)) return false;
    return sweeps_.pairs.port_now(before) == now || (sweeps_.pairs.port_now(before) == none && sweeps_.pairs.port_then(now) == none);
  }

  void compare_lids(SubnetDifference& result) const {
    for (std::uint16_t value = 1; value <= last_unicast_lid; ++value) {
      const Lid lid{value};
      const PortIndex is = current_.find_lid(lid), was = reference_.find_lid(lid);
      result.current_lids += is != none ? 1U : 0U;
      result.reference_lids += was != none ? 1U : 0U;
      if ((is == none && was == none) || is_same_owner(is, was)) continue;
      const bool missed = (is == none && may_have_lid(sweeps_.missed_now, current_, sweeps_.pairs.port_now(was), reference_, was)) ||
                          (was == none && may_have_lid(sweeps_.missed_before, reference_, sweeps_.pairs.port_then(is), current_, is));
      if (missed) {
        ++result.lids_not_compared;
        continue;
      }
      const auto guid_of = [](const Subnet& of, PortIndex at) { return at == none ? std::nullopt : std::optional(of.end_port_guid(at)); };
      result.lids.push_back({lid, guid_of(current_, is), guid_of(reference_, was)});
    }
  }

  const Subnet &current_, &reference_;
  const ComparedSweeps sweeps_;
};

constexpr std::array<std::string_view, 5> node_fields{"partition_cap", "device_id", "revision", "vendor_id", "num_ports"};
constexpr std::array<std::string_view, 3> listed_fields{"device_id", "vendor_id", "num_ports"};  // of Node::is_listed
constexpr std::array<std::string_view, 4> end_port_fields{"capability_mask", "capability_mask2", "lmc", "mtu_cap"};
constexpr std::array<std::string_view, 1> link_fields{"neighbor_mtu"};

/// The bits of CapabilityMask that say that a manager or an agent runs at the port (IBA 14.2.5.6). Programs of a host set and clear them
/// when they start and end. In Linux these are IsSM (ib_umad, while an issm device is open), IsCommunicationManagementSupported
/// (ib_cm) and IsDeviceManagementSupported (ib_srpt), by ib_modify_port(). Drivers let programs change IsSNMPTunnelingSupported and
/// IsVendorClassSupported too (ehca), and the access layer of Windows IsSMdisabled. No program is known to set another bit.
constexpr std::uint32_t bits_of_programs =
    smp::capability_mask::is_sm | smp::capability_mask::is_sm_disabled | smp::capability_mask::is_communication_management_supported |
    smp::capability_mask::is_snmp_tunneling_supported | smp::capability_mask::is_device_management_supported |
    smp::capability_mask::is_vendor_class_supported;

std::uint64_t compared_part(const FieldInfo& field, std::uint64_t value) {
  return field.name == "capability_mask" ? value & ~std::uint64_t{bits_of_programs} : value;
}

/// The end port of the master subnet manager that the first end port with a PortInfo names; none if it names none.
PortIndex master_of(const Subnet& subnet) {
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const Port& port = subnet.port(at);
    if (!port.has_info || subnet.end_port_of(at) != at) continue;
    if (const Lid lid = port.info().master_sm_lid; lid.is_unicast()) return subnet.find_lid(lid);
  }
  return none;
}

class Comparison {
 public:
  Comparison(const Subnet& current, const Subnet& reference)
      : current_(current), reference_(reference), pairs_(current, reference), difference_(difference(current, reference)) {}

  Changes run() {
    match_nodes();
    match_links();
    changes_.rates = difference_.rates;
    find_changed_fields();
    const IndexPair masters{master_of(current_), master_of(reference_)};
    const bool are_known = masters.current != none && masters.reference != none;
    if (are_known && now(reference_.port(masters.reference).node) != current_.port(masters.current).node) changes_.master = masters;
    changes_.pairs = std::move(pairs_);
    return std::move(changes_);
  }

 private:
  /// The node of the current model that is, or has replaced, a node of the reference model; none if it is gone.
  NodeIndex now(NodeIndex reference) const {
    const NodeIndex same = pairs_.node_now(reference);
    if (same != none) return same;
    const auto by = successors_.find(reference);
    return by == successors_.end() ? none : by->second;
  }
  PortIndex port_now(PortIndex reference) const {
    const Port& port = reference_.port(reference);
    const NodeIndex node = now(port.node);
    return node == none ? none : current_.port_of(node, port.number);
  }

  /// The new node at a place where `gone` was, with its name and kind; none if there is none.
  NodeIndex successor_of(NodeIndex gone) const {
    const Node& before = reference_.node(gone);
    if (!before.has_description) return none;
    for (const Port& port : reference_.ports_of(before)) {
      if (port.peer == none) continue;
      const PortIndex neighbour = port_now(port.peer);
      if (neighbour == none || current_.port(neighbour).peer == none) continue;
      const NodeIndex here = current_.port(current_.port(neighbour).peer).node;
      const Node& node = current_.node(here);
      if (node.kind() == before.kind() && node.description() == before.description() && node.guid() != before.guid() &&
          pairs_.node_then(here) == none)
        return here;
    }
    return none;
  }

  void match_nodes() {
    std::set<NodeIndex> taken;
    for (const NodeIndex gone : difference_.nodes.missing) {
      const NodeIndex by = successor_of(gone);
      if (by == none || !taken.insert(by).second) {
        changes_.nodes_gone.push_back(gone);
        continue;
      }
      successors_.emplace(gone, by);
      changes_.replaced.push_back({by, gone});
    }
    for (const NodeIndex node : difference_.nodes.added) {
      if (taken.contains(node)) continue;
      changes_.nodes_new.push_back(node);
      new_nodes_.insert(node);
    }
  }

  /// The first ends of links that nodes of both models had, and have no more.
  std::vector<PortIndex> broken_links() const {
    std::vector<PortIndex> broken;
    for (const PortIndex at : difference_.links.missing) {
      const PortIndex here = port_now(at), there = port_now(reference_.port(at).peer);
      if (here != none && there != none && current_.port(here).peer != there) broken.push_back(at);
    }
    return broken;
  }

  /// The first ends of links that nodes of both models have, and had not.
  std::set<PortIndex> made_links() const {
    std::set<PortIndex> kept;
    for (PortIndex at = 0; at < reference_.ports().size(); ++at) {
      if (reference_.port(at).peer == none) continue;
      const PortIndex here = port_now(at), there = port_now(reference_.port(at).peer);
      if (here != none && there != none && current_.port(here).peer == there) kept.insert(here);
    }
    std::set<PortIndex> made;
    for (const PortIndex at : difference_.links.added) {
      if (kept.contains(at) || kept.contains(current_.port(at).peer)) continue;
      if (!new_nodes_.contains(current_.port(at).node) && !new_nodes_.contains(current_.port(current_.port(at).peer).node)) made.insert(at);
    }
    return made;
  }

  /// Takes the link at `end` of the current model out of `made`. False if it is not there.
  bool take_link(std::set<PortIndex>& made, PortIndex end) const {
    const PortIndex peer = current_.port(end).peer;
    return made.erase(end) != 0 || (peer != none && made.erase(peer) != 0);
  }

  void match_links() {
    std::set<PortIndex> made = made_links();
    for (const PortIndex at : broken_links()) {
      PortIndex first = at, second = reference_.port(at).peer;
      const auto is_switch = [this](PortIndex port) { return reference_.node_of(port).kind() == NodeKind::sw; };
      if (is_switch(first)) std::swap(first, second);  // a host rather than a switch keeps its cable
      if (take_link(made, port_now(first))) {
        changes_.moved.push_back({port_now(first), first});
      } else if (take_link(made, port_now(second))) {
        changes_.moved.push_back({port_now(second), second});
      } else {
        changes_.links_gone.push_back(at);
      }
    }
    for (const PortIndex at : difference_.links.added) {
      if (made.contains(at)) changes_.links_new.push_back(at);
    }
  }

  template <class Fields>
  void compare(const FieldChange& at, Bytes current, Bytes reference, const StructInfo& info, const Fields& names) {
    for (const std::string_view name : names) {
      const FieldInfo& field = *find_field(info, name);
      const std::uint64_t now = compared_part(field, read_number(current, field));
      const std::uint64_t before = compared_part(field, read_number(reference, field));
      if (now != before) changes_.fields.push_back({at.node, at.port, &field, now, before});
    }
  }

  void compare_nodes(NodeIndex current, NodeIndex reference) {
    const Node &node = current_.node(current), &before = reference_.node(reference);
    const std::span<const std::string_view> fields =
        node.is_listed || before.is_listed ? std::span<const std::string_view>(listed_fields) : node_fields;
    compare({current, none, {}, {}, {}}, wire::packed(node.info), wire::packed(before.info), smp::NodeInfo::info(), fields);
    if (node.has_description && before.has_description && node.description() != before.description())
      changes_.renamed.push_back({current, reference});
  }

  void compare_ports(PortIndex current, PortIndex reference) {
    const Port &port = current_.port(current), &before = reference_.port(reference);
    const bool is_listed = current_.node(port.node).is_listed || reference_.node(before.node).is_listed;
    if (!port.has_info || !before.has_info || is_listed) return;
    const FieldChange at{port.node, current, {}, {}, {}};
    if (current_.end_port_of(current) == current) compare(at, port.info_bytes, before.info_bytes, smp::PortInfo::info(), end_port_fields);
    if (port.number != 0 && port.peer != none && before.peer != none)
      compare(at, port.info_bytes, before.info_bytes, smp::PortInfo::info(), link_fields);
  }

  void find_changed_fields() {
    std::vector<IndexPair> both;
    for (NodeIndex before = 0; before < reference_.nodes().size(); ++before) {
      if (const NodeIndex node = pairs_.node_now(before); node != none) both.push_back({node, before});
    }
    std::ranges::stable_sort(both, {}, [this](const IndexPair& pair) { return current_.node(pair.current).guid(); });
    for (const IndexPair& pair : both) {
      compare_nodes(pair.current, pair.reference);
      const Node& node = current_.node(pair.current);
      for (unsigned number = 0; number < node.slots; ++number) {
        const PortIndex before = pairs_.port_then(node.first_port + number);
        if (before != none) compare_ports(node.first_port + number, before);
      }
    }
  }

  const Subnet &current_, &reference_;
  Counterparts pairs_;
  const SubnetDifference difference_;
  std::unordered_map<NodeIndex, NodeIndex> successors_;  // nodes of the current model by the nodes that they replaced
  std::set<NodeIndex> new_nodes_;
  Changes changes_;
};

}  // namespace

LinkEnds link_ends(const Subnet& subnet, PortIndex port) {
  const LinkEnd here = end_at(subnet, port), there = end_at(subnet, subnet.port(port).peer);
  return {std::max(here, there), std::min(here, there)};
}

SubnetDifference difference(const Subnet& current, const Subnet& reference) { return SweepComparison(current, {}, reference, {}).run(); }

SubnetDifference difference(const SweptSubnet& current, const SweptSubnet& reference) {
  return SweepComparison(current.subnet, current.failures, reference.subnet, reference.failures).run();
}

Changes changes(const Subnet& current, const Subnet& reference) { return Comparison(current, reference).run(); }

}  // namespace ib::subnet
