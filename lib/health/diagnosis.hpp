// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Runs all checks over one fabric, merges and counts their findings, and gives the verdict.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "health/checks.hpp"
#include "health/coverage.hpp"
#include "health/finding.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {

/// The outcome of a check.
struct CheckResult {
  const Check* check{};
  CheckState state{};
  std::string reason{};          ///< why it was not run, or what is missing
  std::size_t finding_count{};   ///< findings that this check made or contributed to
  bool is_run = true;            ///< it was run, at least on the part that was read
  std::optional<Share> ports{};  ///< of CheckState::partly: the ports that it looked at
};

struct Diagnosis {
  Findings findings;                     ///< the worst first, one a cable
  std::vector<CheckResult> checks;       ///< of all_checks()
  std::array<std::size_t, 3> levels{};   ///< findings by Level
  std::size_t implausible{};             ///< changes of counters that no link can explain, and that were left out
  bool has_counters{};                   ///< counters of some ports were read, at least once
  std::optional<double> window_seconds;  ///< the shortest of all ports; absent without two readings
  std::optional<double> provable_ratio;  ///< the error ratio that the window proves on the slowest link that was read at both ends
  Share proven_links{};                  ///< the links about which the window proves something
  subnet::LinkRate slowest{};            ///< its rate
  std::vector<Coverage> coverage;        ///< what was read out of what there is

  std::size_t count(Level level) const { return levels.at(static_cast<std::size_t>(level)); }
  /// Whether there is a finding of this level or a worse one.
  bool any_from(Level level) const;
  /// What was read in part, or not at all.
  std::vector<const Coverage*> gaps() const;
  /// Whether a check was wanted and could not be run, or only in part, because something was not read.
  bool any_not_read() const;
};

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

/// The verdict on a fabric, with which `health` and the page of the exporter begin: "Healthy: 5 infos on 16 hosts, 6 switches, 32 cables;
/// watched 10 s."
std::string verdict_text(const VerdictFacts& facts);

/// Runs the checks of `selection` for which `input` has the sources. Only findings of `scope` are kept.
Diagnosis examine(const Input& input, const Selection& selection, const Scope& scope = {});

}  // namespace ib::health
