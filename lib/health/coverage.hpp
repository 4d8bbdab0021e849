// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What was read out of what there is. A check that has seen a part says so, and nothing is proved about a link whose ends were not both
// read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "health/input.hpp"

namespace ib::health {

struct Check;

/// A number of ports or nodes that were read, out of all that were to be read.
struct Share {
  std::size_t read{}, of{};
  bool is_whole() const { return read == of; }
};

/// What was read of one kind of data.
struct Coverage {
  Source source{};  ///< topology (PortInfo), counters, window, pkeys, fec, managers (SMInfo), phy, environment (switches)
  Share ports;
  Share nodes{};  ///< a node is read if all of its ports are
  bool is_whole() const { return ports.is_whole(); }
};

/// What was read of PortInfo, and of the other sources where these were to be read. A port whose counters have changed by more than its
/// link can carry was not watched.
std::vector<Coverage> coverage_of(const Input& input);

/// Of those, the one of this source of which a part was read and a part was not; null if there is none.
const Coverage* part_of(const std::vector<Coverage>& all, Source source);
/// Of those, the first on which a check stands that is not whole; null if there is none.
const Coverage* missing_of(const std::vector<Coverage>& all, const Check& check);

/// "counters of 3 of 53 nodes", "PortInfo of 71 of 72 ports", "watched 3 of 53 nodes", "SMInfo of 1 of 2 subnet managers"
std::string coverage_text(const Coverage& coverage);
/// "port_info", "counters", "window", "pkeys", "fec", "managers", "phy", "environment"
std::string_view name_of_covered(Source source);

/// The seconds for which both ends of the link of a port were watched; absent if they were not, or if it has no link.
std::optional<double> seconds_at_both_ends(const Input& input, subnet::PortIndex port);

}  // namespace ib::health
