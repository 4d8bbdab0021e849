// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Evidence that several checks make in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {

/// A port of a model for a sentence: "'leaf1' 0000:0000:0000:0100 port 3".
std::string port_text(const subnet::Subnet& subnet, subnet::PortIndex port);
/// The descriptions of the first four nodes: "'a', 'b', 'c', 'd', …".
std::string first_names(const subnet::Subnet& subnet, const std::vector<subnet::NodeIndex>& nodes);

/// What a counter has done, at end `end` of a finding.
Evidence evidence_of(const Input& input, const PortChanges& counts, const CounterChange& change, std::size_t end,
                     std::optional<double> limit = {});

/// The value of a field, at end `end` of a finding.
Evidence field_value(std::string_view field, std::size_t end, Value value, std::optional<double> limit = {});

/// The value of a field at the first end of a finding, which is greater or less than its limit.
Evidence beyond_limit(std::string_view field, double value, double limit);

/// The width and the speed of a rate as the values of fields: lanes, and Mb/s of a lane with the word.
Value width_value(const subnet::LinkRate& rate);
Value speed_value(const subnet::LinkRate& rate);

/// The number that a counter has counted in the window: the growth of its value. If it was cleared meanwhile, its value now, which is the
/// least that it can have counted. 0 if that is not known: a node that restarted also counts while its links come up.
std::uint64_t counted_of(const Input& input, const PortChanges& counts, const CounterChange& change);
/// Lowers the confidence of a finding to `likely` and gives the reason, if the counter was cleared: its number is the least possible one.
void hedge(Finding& finding, const CounterChange& change);

/// A version of firmware, and the nodes, or the ports of the modules, that have it.
using PlacesByVersion = std::map<std::string, std::vector<std::uint32_t>>;

struct OddVersions {
  std::vector<std::uint32_t> places;  ///< with an odd version; all places where none is that of most
  std::string text;                   ///< "firmware 1.0 here, 1.1 in 3 others"; "firmware 1.0 in 2, 1.1 in 2"
};
/// Precondition: there are at least two versions.
OddVersions odd_versions(const PlacesByVersion& versions);

/// Adds a finding of the cable at each port where a counter has counted Thresholds::events or more.
void find_events(const Input& input, Findings& findings, std::string_view counter);

}  // namespace ib::health
