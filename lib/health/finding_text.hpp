// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Findings in words. Text from the fabric in them is escaped (base/escape.hpp).
#pragma once

#include <string>

#include "health/finding.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {

/// Writes findings. `before` is the baseline's model, for places of it.
struct FindingText {
  const subnet::Subnet& subnet;
  const subnet::NodeNameMap& names;
  const subnet::Subnet* before{};

  const subnet::Subnet& subnet_of(const Place& place) const { return place.is_before ? *before : subnet; }
  /// The node of a place: its name and GUID, or only one of them.
  std::string node(const Place& place, bool has_guid) const;
  std::string place(const Place& place) const;
  /// A port or node as place(), without the GUID, for a line below one that has the GUID.
  std::string short_place(const Place& place) const;
  /// The ends of a finding: both of a cable, of several cables or of a group the first ones, at most `most` of them.
  std::string ends(const Finding& finding, std::size_t most = 3) const;
  /// The cables of a finding, both ends of the first `most`.
  std::string cables(const Finding& finding, std::size_t most) const;
  /// A value that shows why there is a finding.
  std::string evidence(const Finding& finding, const Evidence& evidence) const;
  /// The description of the fault, as sentences.
  std::string seen(const Finding& finding) const;
  /// A finding in one line: one end of a group, and the description.
  std::string brief(const Finding& finding) const;
};

/// "1 host", "1,200 hosts".
std::string count_text(std::size_t count, std::string_view one, std::string_view many);
/// A time for people: "30 s", "5 min", "2.5 h".
std::string duration_text(double seconds);

}  // namespace ib::health
