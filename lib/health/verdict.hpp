// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The verdict on a fabric, in one sentence: `ibtool health` and the page of the exporter begin with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/finding.hpp"

namespace ib::health {

struct Diagnosis;

enum class Verdict : std::uint8_t {
  healthy,
  findings,  ///< there are findings of the level that counts, or worse ones
  unknown,   ///< there are none, and not everything was read
};

/// "healthy", "findings", "unknown".
std::string_view name(Verdict verdict);

/// What the sentence counts.
struct VerdictFacts {
  Verdict verdict{};
  std::array<std::size_t, 3> levels{};                     ///< findings by Level
  std::size_t host_count{}, switch_count{}, link_count{};  ///< of what was looked at
  std::vector<std::string> gaps{};                         ///< what was read in part: "PortInfo of 71 of 72 ports"
  std::string watched = "watched";                         ///< or "watched 3 of 53 nodes for"
  std::optional<double> seconds{};                         ///< for which counters were watched; absent without two readings
  bool has_counters{};                                     ///< counters were read, at least once

  /// Takes levels, gaps and seconds from a diagnosis.
  void take(const Diagnosis& diagnosis);
};

/// "Healthy: 5 infos on 16 hosts, 6 switches, 32 cables; watched 10 s."
std::string verdict_text(const VerdictFacts& facts);

}  // namespace ib::health
