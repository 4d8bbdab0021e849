// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Runs all checks over one fabric, merges and counts their findings, and gives the verdict.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "health/checks.hpp"
#include "health/finding.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {

// What was read out of what there is. A check that has seen a part says so, and nothing is proved about a link whose ends were not both
// read.

/// A number of ports or nodes that were read, out of all that were to be read.
struct Share {
  std::size_t read{}, of{};
  bool is_whole() const { return read == of; }
};

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

struct VerdictFacts {
  /// `diagnosis` is of `subnet`, and must outlive this object.
  VerdictFacts(Verdict of, const Diagnosis& diagnosed, const subnet::Subnet& subnet, const HostNames& names = {}, const Scope& scope = {});

  Verdict verdict;
  const Diagnosis& diagnosis;
  std::size_t host_count, switch_count, link_count;  ///< of what was looked at
  std::vector<std::string> further_gaps{};           ///< what else was read in part: "counters of 71 of 72 devices"
};
/// "2 errors, 1 info"; "nothing found". By Level.
std::string findings_text(const std::array<std::size_t, 3>& levels);

/// The verdict on a fabric, with which `health` and the page of the exporter begin: "Healthy: 5 infos on 16 hosts, 6 switches, 32 cables;
/// watched 10 s."
std::string verdict_text(const VerdictFacts& facts);

/// Runs the checks of `selection` for which `input` has the sources. Only findings of `scope` are kept.
Diagnosis examine(const Input& input, const Selection& selection, const Scope& scope = {});

}  // namespace ib::health
