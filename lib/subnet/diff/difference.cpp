// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/difference.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "subnet/diff/unseen.hpp"

namespace ib::subnet {
namespace {

using Indexes = std::vector<std::uint32_t>;

Indexes end_ports(const Subnet& subnet) {
  Indexes ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    if (subnet.end_port_of(at) == at && subnet.end_port_guid(at) != Guid{}) ports.push_back(at);
  }
  std::ranges::stable_sort(ports, {}, [&subnet](PortIndex at) { return subnet.end_port_guid(at); });
  return ports;
}

Indexes nodes(const Subnet& subnet) {
  Indexes all(subnet.nodes().size());
  std::iota(all.begin(), all.end(), NodeIndex{});
  std::ranges::stable_sort(all, {}, [&subnet](NodeIndex at) { return subnet.node(at).guid(); });
  return all;
}

LinkEnd end_at(const Subnet& subnet, PortIndex at) { return {subnet.end_port_guid(at), subnet.port(at).number}; }

/// The first ends of all links. Ends that look alike, as those of twins do, are in the order of the model.
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

/// The width and speed of a link at one of its ends.
struct Running {
  LinkRate rate;
  bool may_be_fdr10{};  ///< the rate is QDR or FDR10
};

Running running(const Subnet& subnet, PortIndex at) { return {active_rate(subnet, at), may_run_at_fdr10(subnet, at)}; }

std::map<std::uint16_t, PortIndex> lids(const Subnet& subnet) {
  std::map<std::uint16_t, PortIndex> owners;
  for (std::uint16_t lid = 1; lid <= last_unicast_lid; ++lid) {
    const PortIndex port = subnet.find_lid(Lid{lid});
    if (port != none) owners.emplace(lid, port);
  }
  return owners;
}

/// Whether two rates certainly differ. A part that was not read on one side may be the same.
bool differ(const Running& a, const Running& b) {
  if (!a.rate.known() || !b.rate.known()) return false;
  const auto may_be = [](const Running& one, const Running& other) { return one.may_be_fdr10 && other.rate.speed == Speed::fdr10; };
  return a.rate.lanes != b.rate.lanes || (a.rate.speed != b.rate.speed && !may_be(a, b) && !may_be(b, a));
}

class SweepComparison {
 public:
  SweepComparison(const Subnet& current, const Failures& current_failures, const Subnet& reference, const Failures& reference_failures,
                  const Counterparts& pairs)
      : current_(current),
        reference_(reference),
        pairs_(pairs),
        reversed_(pairs.reversed()),
        missed_now_(current, current_failures, reference, pairs_),
        missed_before_(reference, reference_failures, current, reversed_) {}

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
    set.maybe_added = std::erase_if(set.added, [&](std::uint32_t one) { return may_be(missed_before_, current_, one); });
    set.maybe_missing = std::erase_if(set.missing, [&](std::uint32_t one) { return may_be(missed_now_, reference_, one); });
  }

  /// An end port is the same if it is of the same node and has the same GUID. Where nodes have changed, one with its GUID is taken for it.
  void compare_end_ports(SetDifference& set) const {
    Indexes now = end_ports(current_), before = end_ports(reference_);
    set.current = now.size();
    set.reference = before.size();
    const auto guid_now = [this](PortIndex at) { return current_.end_port_guid(at); };
    const auto guid_before = [this](PortIndex at) { return reference_.end_port_guid(at); };
    const auto is_same = [&](PortIndex current, PortIndex was) {
      return current != none && was != none && guid_now(current) == guid_before(was);
    };
    std::erase_if(now, [&](PortIndex at) { return is_same(at, pairs_.port_then(at)); });
    std::erase_if(before, [&](PortIndex at) { return is_same(pairs_.port_now(at), at); });
    std::ranges::set_difference(now, before, std::back_inserter(set.added), {}, guid_now, guid_before);
    std::ranges::set_difference(before, now, std::back_inserter(set.missing), {}, guid_before, guid_now);
    leave_out_missed(set, [](const Unseen& unseen, const Subnet& of, PortIndex at) { return unseen.node(of.port(at).node); });
  }

  void compare_nodes(SetDifference& set) const {
    const Indexes now = nodes(current_), before = nodes(reference_);
    set.current = now.size();
    set.reference = before.size();
    std::ranges::copy_if(now, std::back_inserter(set.added), [this](NodeIndex at) { return pairs_.node_then(at) == none; });
    std::ranges::copy_if(before, std::back_inserter(set.missing), [this](NodeIndex at) { return pairs_.node_now(at) == none; });
    leave_out_missed(set, [](const Unseen& unseen, const Subnet&, NodeIndex at) { return unseen.node(at); });
  }

  void compare_links(SubnetDifference& result) const {
    const Indexes now = links(current_), before = links(reference_);
    result.links.current = now.size();
    result.links.reference = before.size();
    for (const PortIndex at : before) {
      const PortIndex here = pairs_.port_now(at), there = pairs_.port_now(reference_.port(at).peer);
      if (here == none || there == none || current_.port(here).peer != there) result.links.missing.push_back(at);
    }
    for (const PortIndex at : now) {
      const PortIndex here = pairs_.port_then(at), there = pairs_.port_then(current_.port(at).peer);
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
    return pairs_.port_now(before) == now || (pairs_.port_now(before) == none && pairs_.port_then(now) == none);
  }

  void compare_lids(SubnetDifference& result) const {
    const std::map<std::uint16_t, PortIndex> now = lids(current_), before = lids(reference_);
    result.current_lids = now.size();
    result.reference_lids = before.size();
    std::set<std::uint16_t> all;
    for (const auto& [lid, owner] : now) all.insert(all.end(), lid);
    for (const auto& [lid, owner] : before) all.insert(lid);
    const auto owner = [](const std::map<std::uint16_t, PortIndex>& map, std::uint16_t lid) {
      const auto found = map.find(lid);
      return found == map.end() ? none : found->second;
    };
    for (const std::uint16_t lid : all) {
      const PortIndex is = owner(now, lid), was = owner(before, lid);
      if (is_same_owner(is, was)) continue;
      const bool missed = (is == none && may_have_lid(missed_now_, current_, pairs_.port_now(was), reference_, was)) ||
                          (was == none && may_have_lid(missed_before_, reference_, pairs_.port_then(is), current_, is));
      if (missed) {
        ++result.lids_not_compared;
        continue;
      }
      const auto guid_of = [](const Subnet& of, PortIndex at) { return at == none ? std::nullopt : std::optional(of.end_port_guid(at)); };
      result.lids.push_back({Lid{lid}, guid_of(current_, is), guid_of(reference_, was)});
    }
  }

  const Subnet &current_, &reference_;
  const Counterparts& pairs_;
  const Counterparts reversed_;
  const Unseen missed_now_, missed_before_;
};

}  // namespace

bool SubnetDifference::none() const { return end_ports.none() && nodes.none() && links.none() && rates.empty() && lids.empty(); }

std::size_t SubnetDifference::not_compared() const {
  return end_ports.not_compared() + nodes.not_compared() + links.not_compared() + lids_not_compared;
}

LinkEnds link_ends(const Subnet& subnet, PortIndex port) {
  const LinkEnd here = end_at(subnet, port), there = end_at(subnet, subnet.port(port).peer);
  return {std::max(here, there), std::min(here, there)};
}

SubnetDifference difference(const Subnet& current, const Subnet& reference) {
  return difference(current, reference, Counterparts(current, reference));
}

SubnetDifference difference(const Subnet& current, const Subnet& reference, const Counterparts& pairs) {
  return SweepComparison(current, {}, reference, {}, pairs).run();
}

SubnetDifference difference(const SweptSubnet& current, const SweptSubnet& reference) {
  const Counterparts pairs(current.subnet, reference.subnet);
  return SweepComparison(current.subnet, current.failures, reference.subnet, reference.failures, pairs).run();
}

}  // namespace ib::subnet
