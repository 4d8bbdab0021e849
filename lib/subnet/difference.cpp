// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/difference.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "subnet/unseen.hpp"

namespace ib::subnet {
namespace {

std::set<Guid> end_ports(const Subnet& subnet) {
  std::set<Guid> guids;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const Guid guid = subnet.end_port_guid(at);
    if (subnet.end_port_of(at) == at && guid != Guid{}) guids.insert(guid);
  }
  return guids;
}

std::set<Guid> nodes(const Subnet& subnet) {
  std::set<Guid> guids;
  for (const Node& node : subnet.nodes()) guids.insert(node.guid());
  return guids;
}

/// The width and speed of a link at its first end.
struct Running {
  LinkRate rate;
  bool may_be_fdr10{};  ///< the rate is QDR or FDR10
};

std::map<LinkEnds, Running> links(const Subnet& subnet) {
  std::map<LinkEnds, Running> found;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const PortIndex peer = subnet.port(at).peer;
    if (peer == none) continue;
    const LinkEnd here{subnet.end_port_guid(at), subnet.port(at).number}, there{subnet.end_port_guid(peer), subnet.port(peer).number};
    if (here >= there) found.try_emplace({here, there}, Running{active_rate(subnet, at), may_run_at_fdr10(subnet, at)});
  }
  return found;
}

std::map<std::uint16_t, Guid> lids(const Subnet& subnet) {
  std::map<std::uint16_t, Guid> owners;
  for (std::uint16_t lid = 1; lid <= last_unicast_lid; ++lid) {
    const PortIndex port = subnet.find_lid(Lid{lid});
    if (port != none) owners.emplace(lid, subnet.end_port_guid(port));
  }
  return owners;
}

template <class T>
SetDifference<T> compare(const std::set<T>& current, const std::set<T>& reference) {
  SetDifference<T> result;
  result.current = current.size();
  result.reference = reference.size();
  std::ranges::set_difference(current, reference, std::back_inserter(result.added));
  std::ranges::set_difference(reference, current, std::back_inserter(result.missing));
  return result;
}

template <class Key, class Value>
std::set<Key> keys(const std::map<Key, Value>& map) {
  std::set<Key> all;
  for (const auto& [key, value] : map) all.insert(all.end(), key);
  return all;
}

/// Whether two rates certainly differ. A part that was not read on one side may be the same.
bool differ(const Running& a, const Running& b) {
  if (!a.rate.known() || !b.rate.known()) return false;
  const auto may_be = [](const Running& one, const Running& other) { return one.may_be_fdr10 && other.rate.speed == Speed::fdr10; };
  return a.rate.lanes != b.rate.lanes || (a.rate.speed != b.rate.speed && !may_be(a, b) && !may_be(b, a));
}

// Whether the sweep of `unseen` may have missed an object of the model `other`.

bool may_be_node(const Unseen& unseen, const Subnet& other, Guid guid) {
  const NodeIndex node = other.find_node(guid);
  return node != none && unseen.node(node);
}

bool may_be_end_port(const Unseen& unseen, const Subnet& other, Guid guid) {
  const PortIndex port = other.find_port(guid);
  return port != none && unseen.node(other.port(port).node);
}

bool may_be_link(const Unseen& unseen, const Subnet& other, const LinkEnds& link) {
  const PortIndex port = port_at(other, link.first);
  return port != none && unseen.link(port);
}

class SweepComparison {
 public:
  SweepComparison(const Subnet& current, const Failures& current_failures, const Subnet& reference, const Failures& reference_failures)
      : current_(current),
        reference_(reference),
        missed_now_(current, current_failures, reference),
        missed_before_(reference, reference_failures, current) {}

  SubnetDifference run() const {
    SubnetDifference result;
    result.end_ports = without_missed(compare(end_ports(current_), end_ports(reference_)), may_be_end_port);
    result.nodes = without_missed(compare(nodes(current_), nodes(reference_)), may_be_node);
    const std::map<LinkEnds, Running> links_now = links(current_), links_before = links(reference_);
    result.links = without_missed(compare(keys(links_now), keys(links_before)), may_be_link);
    for (const auto& [link, now] : links_now) {
      const auto before = links_before.find(link);
      if (before != links_before.end() && differ(now, before->second)) result.rates.push_back({link, now.rate, before->second.rate});
    }
    compare_lids(result);
    return result;
  }

 private:
  /// Moves the objects that one of the sweeps may have missed from the lists to the counts.
  template <class T, class MayBe>
  SetDifference<T> without_missed(SetDifference<T> set, MayBe may_be) const {
    set.maybe_added = std::erase_if(set.added, [&](const T& one) { return may_be(missed_before_, current_, one); });
    set.maybe_missing = std::erase_if(set.missing, [&](const T& one) { return may_be(missed_now_, reference_, one); });
    return set;
  }

  /// Whether `owner`, which has a LID in `other`, may have it in `swept` too: the sweep missed its node, or did not read its PortInfo.
  static bool may_have_lid(const Unseen& unseen, const Subnet& swept, const Subnet& other, Guid owner) {
    const PortIndex port = swept.find_port(owner);
    if (port == none) return may_be_end_port(unseen, other, owner);
    return swept.lid(port) == Lid{} && !swept.port(port).has_info;
  }

  void compare_lids(SubnetDifference& result) const {
    const std::map<std::uint16_t, Guid> now = lids(current_), before = lids(reference_);
    result.current_lids = now.size();
    result.reference_lids = before.size();
    std::set<std::uint16_t> all = keys(now);
    all.merge(keys(before));
    const auto owner = [](const std::map<std::uint16_t, Guid>& map, std::uint16_t lid) {
      const auto found = map.find(lid);
      return found == map.end() ? std::nullopt : std::optional(found->second);
    };
    for (const std::uint16_t lid : all) {
      const LidDifference one{Lid{lid}, owner(now, lid), owner(before, lid)};
      if (one.current == one.reference) continue;
      const bool missed = (!one.current && may_have_lid(missed_now_, current_, reference_, *one.reference)) ||
                          (!one.reference && may_have_lid(missed_before_, reference_, current_, *one.current));
      missed ? static_cast<void>(++result.lids_not_compared) : result.lids.push_back(one);
    }
  }

  const Subnet &current_, &reference_;
  const Unseen missed_now_, missed_before_;
};

}  // namespace

bool SubnetDifference::none() const { return end_ports.none() && nodes.none() && links.none() && rates.empty() && lids.empty(); }

std::size_t SubnetDifference::not_compared() const {
  return end_ports.not_compared() + nodes.not_compared() + links.not_compared() + lids_not_compared;
}

PortIndex port_at(const Subnet& subnet, const LinkEnd& end) {
  const PortIndex owner = subnet.find_port(end.guid);
  return owner == none ? none : subnet.port_of(subnet.port(owner).node, end.port);
}

SubnetDifference difference(const Subnet& current, const Subnet& reference) { return SweepComparison(current, {}, reference, {}).run(); }

SubnetDifference difference(const SweptSubnet& current, const SweptSubnet& reference) {
  return SweepComparison(current.subnet, current.failures, reference.subnet, reference.failures).run();
}

}  // namespace ib::subnet
