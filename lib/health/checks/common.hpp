// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the topics of checks share. Each topic has a file, with its checks and their words at the end.
#pragma once

#include <initializer_list>

#include "health/diagnosis.hpp"

namespace ib::health {

std::span<const Check> node_checks();
std::span<const Check> sibling_checks();
std::span<const Check> port_checks();
std::span<const Check> error_checks();
std::span<const Check> traffic_checks();
std::span<const Check> physical_checks();
std::span<const Check> manager_checks();
std::span<const Check> route_checks();  // routes.cpp
std::span<const Check> baseline_checks();

inline constexpr bool is_of_link = true;

/// A port of a model for a sentence: "'leaf1' 0000:0000:0000:0100 port 3".
std::string port_text(const Subnet& subnet, PortIndex port);
/// The descriptions of the first four nodes: "'a', 'b', 'c', 'd', …".
std::string first_names(const Subnet& subnet, const std::vector<NodeIndex>& nodes);
/// The first eight P_Keys: "0x8001, 0x8002, …".
std::string pkeys_text(const std::vector<std::uint16_t>& pkeys);
std::string rate_text(const subnet::LinkRate& rate);

inline Value number(std::uint64_t value) { return {value, {}}; }
template <class Code>
Value code(Code value) {
  return {static_cast<std::uint64_t>(value), to_text(value)};
}
/// The width and the speed of a rate as the values of fields: lanes, and Mb/s of a lane with the word.
inline Value width_value(const subnet::LinkRate& rate) { return number(rate.lanes); }
inline Value speed_value(const subnet::LinkRate& rate) { return {subnet::lane_mbps(rate.speed), subnet::name(rate.speed)}; }

inline Evidence field_value(std::string_view field, std::size_t end, Value value, std::optional<double> limit = {}) {
  return {.field = field, .end = end, .after = value, .limit = limit};
}
inline Evidence changed_value(std::string_view field, std::size_t end, Value was, Value is) {
  return {.field = field, .end = end, .before = was, .after = is};
}
/// The value of a field at the first end of a finding, which is greater or less than its limit.
inline Evidence beyond_limit(std::string_view field, double value, double limit) {
  return {.field = field, .after = {value, {}}, .limit = limit, .is_beyond_limit = true};
}
/// What a counter has done, at end `end` of a finding.
Evidence evidence_of(const Input& input, const PortChanges& counts, const CounterChange& change, std::size_t end,
                     std::optional<double> limit = {});

/// The number that a counter has counted in the window: the growth of its value. If it was cleared meanwhile, its value now, which is the
/// least that it can have counted. 0 if that is not known: a node that restarted also counts while its links come up.
std::uint64_t counted_of(const Input& input, const PortChanges& counts, const CounterChange& change);
/// Lowers the confidence of a finding to `likely` and gives the reason, if the counter was cleared: its number is the least possible one.
void hedge(Finding& finding, const CounterChange& change);
/// Adds a finding of the cable at each port where one of the counters has counted Thresholds::events or more, counter by counter.
void find_events(const Input& input, Findings& findings, std::initializer_list<std::string_view> counters);

inline double bits_in(const subnet::LinkRate& rate, double seconds) {
  constexpr double per_mbps = 1e6;
  return rate.data_mbps() * per_mbps * seconds;
}
/// The error ratio below which a link is with a confidence of 95 %, if it had no error in `bits` bits: the rule of three.
inline double provable_ratio(double bits) { return 3 / bits; }
/// The probability that a link with `mean` errors on average has `count` errors or more (Poisson).
double chance_of(std::uint64_t count, double mean);
/// How sure it is that `count` errors, where a good link has `mean`, are not chance. `links`: the number of links that were looked at, each
/// of which has its chance.
Confidence confidence_in(std::uint64_t count, double mean, std::size_t links);

/// A version of firmware, and the nodes, or the ports of the modules, that have it.
using PlacesByVersion = std::map<std::string, std::vector<std::uint32_t>>;
/// The places with an odd version, or all where no version is the most common, and the words for them, which begin with `kind`:
/// "firmware 1.0 here, 1.1 in 3 others"; "firmware 1.0 in 2, 1.1 in 2". Nothing where there is one version.
std::optional<std::pair<std::vector<std::uint32_t>, std::string>> odd_versions(std::string_view kind, const PlacesByVersion& versions);

// The parts of the baseline's fabric that are not there any more: nodes that are gone, by the links that they had with each other.

/// Two ends of a cable of the baseline: `near` is of a node that is still there, as it is now, `far` of one that is gone.
struct FormerCable {
  Place near, far;
};

/// Nodes of the baseline that are gone and were linked with each other.
struct Region {
  std::vector<NodeIndex> nodes;       ///< of the baseline's model: switches first
  std::vector<FormerCable> boundary;  ///< the cables that led to nodes that are still there
};

/// The regions of all nodes that are gone, in the order of their first nodes in Changes::nodes_gone.
std::vector<Region> gone_regions(const Input& input);
/// The cables on a region's boundary whose near ends are up and have no node in the model at the other end: the region may be there, and be
/// silent.
std::vector<FormerCable> silent_cables(const Input& input, const Region& region);
/// What a region had, for people: "1 switch and 2 adapters: 'leaf1', …", or the one node's name and GUID.
std::string contents_of(const Subnet& was, const Region& region);

}  // namespace ib::health
