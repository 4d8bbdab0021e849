// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/difference.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

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

std::vector<LidDifference> compare_lids(const std::map<std::uint16_t, Guid>& current, const std::map<std::uint16_t, Guid>& reference) {
  std::set<std::uint16_t> all = keys(current);
  all.merge(keys(reference));
  const auto owner = [](const std::map<std::uint16_t, Guid>& map, std::uint16_t lid) {
    const auto found = map.find(lid);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<LidDifference> result;
  for (const std::uint16_t lid : all) {
    const LidDifference one{Lid{lid}, owner(current, lid), owner(reference, lid)};
    if (one.current != one.reference) result.push_back(one);
  }
  return result;
}

}  // namespace

bool SubnetDifference::none() const {
  const auto same = [](const auto& set) { return set.added.empty() && set.missing.empty(); };
  return same(end_ports) && same(nodes) && same(links) && rates.empty() && lids.empty();
}

SubnetDifference difference(const Subnet& current, const Subnet& reference) {
  SubnetDifference result;
  result.end_ports = compare(end_ports(current), end_ports(reference));
  result.nodes = compare(nodes(current), nodes(reference));
  const std::map<LinkEnds, Running> links_now = links(current), links_before = links(reference);
  result.links = compare(keys(links_now), keys(links_before));
  for (const auto& [link, now] : links_now) {
    const auto before = links_before.find(link);
    if (before != links_before.end() && differ(now, before->second)) result.rates.push_back({link, now.rate, before->second.rate});
  }
  const std::map<std::uint16_t, Guid> lids_now = lids(current), lids_before = lids(reference);
  result.current_lids = lids_now.size();
  result.reference_lids = lids_before.size();
  result.lids = compare_lids(lids_now, lids_before);
  return result;
}

}  // namespace ib::subnet
