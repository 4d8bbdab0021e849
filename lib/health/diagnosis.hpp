// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Runs all checks over one fabric, merges and counts their findings, and gives the verdict.
#pragma once

#include "health/input.hpp"
#include "phy/port_row.hpp"
#include "routing/tables.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {

// The part of a fabric that the user wants to know about.

struct Scope {
  bool is_all = true;
  std::vector<bool> ports, nodes;  ///< by their indexes, unless it is all

  bool has_port(PortIndex port) const { return is_all || ports[port]; }
  /// Whether a finding is about something in the scope. Errors and warnings of subnet managers are of every scope.
  bool has(const Finding& finding) const;
  /// Whether a port or node is in the scope. False for a place that no longer exists or that did not answer.
  bool has(const Place& place) const;
  void narrow(Finding& finding) const;
};

/// How many machines with channel adapters, Aggregation Nodes excepted, switches and links are in a scope.
std::size_t host_count(const Subnet& subnet, const HostNames& names, const Scope& scope = {});
std::size_t switch_count(const Subnet& subnet, const Scope& scope = {});
std::size_t link_count(const Subnet& subnet, const Scope& scope = {});

/// One node, with its ports and those at the other ends of their links.
Scope scope_around(const Subnet& subnet, NodeIndex centre);

/// The ports at both ends of all links that packets between `hosts`, nodes of the model, go over, as the tables say, and the nodes of
/// these ports. Where packets do not arrive, the links up to the fault.
Scope scope_between(const routing::Network& network, const routing::LinearTables& tables, const std::set<NodeIndex>& hosts);

// The checks. To add one: a function and a row at the end of the file of its topic in checks/, a test and a paragraph in ibtool-health(1).

struct Check {
  std::string_view id;                                  ///< `symbol-errors`: never changes
  Level level;                                          ///< of its findings, unless they say otherwise
  Sources needs;                                        ///< besides Source::topology
  std::string_view text;                                ///< why a finding matters, as a sentence
  std::string_view remedy;                              ///< what to do, as a sentence; actions in braces (Finding::what_to_do)
  void (*run)(const Input& input, Findings& findings);  ///< adds what it finds
  bool is_of_link = false;                              ///< the PortInfo and counters of one link show it: no sweep is needed
};

/// All checks by topic, in the order of the manual page.
std::span<const Check> all_checks();
/// The check of that id; null if there is none.
const Check* find_check(std::string_view id);

struct Selection {
  std::vector<const Check*> only;  ///< empty: all
  std::vector<const Check*> skip;
  std::string_view why_not = "not requested";  ///< the reason given for the checks that are not among these
  bool has(const Check& check) const;
  Sources needs() const;
};

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

/// "counters of 3 of 53 nodes", "PortInfo of 71 of 72 ports", "watched 3 of 53 nodes", "SMInfo of 1 of 2 subnet managers"
std::string coverage_text(const Coverage& coverage);
std::string_view name_of_covered(Source source);

/// The seconds for which both ends of the link of a port were watched; absent if they were not, or if it has no link.
std::optional<double> seconds_at_both_ends(const Input& input, PortIndex port);

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
  std::size_t host_count{}, switch_count{}, link_count{};  ///< in the scope
  bool is_of_selection{};                                  ///< not all of all_checks() were selected

  std::size_t count(Level level) const { return levels.at(static_cast<std::size_t>(level)); }
  bool any_from(Level level) const;
  /// Whether a check was wanted and could not be run, or only in part, because something was not read.
  bool any_not_read() const;
};

enum class Verdict : std::uint8_t {
  healthy,
  findings,  ///< there are findings of the level that counts, or worse ones
  unknown,   ///< there are none, and not everything was read
};

std::string_view name(Verdict verdict);

/// "2 errors, 1 info"; "nothing found". By Level.
std::string findings_text(const std::array<std::size_t, 3>& levels);

/// The verdict on a fabric, with which `health` and the page of the exporter begin: "Healthy: 5 infos on 16 hosts, 6 switches, 32 cables;
/// watched 10 s.", "Healthy by 2 of 73 checks: …", those that were run, where not all were selected. `further_gap` is what else was read in
/// part: "counters of 71 of 72 devices".
std::string verdict_text(Verdict verdict, const Diagnosis& diagnosis, const std::string& further_gap = {});

/// Runs the checks of `selection` for which `input` has the sources. Only findings of `scope` are kept.
Diagnosis examine(const Input& input, const Selection& selection, const Scope& scope = {});

// One fault becomes one finding. The findings of one cable are merged: it is replaced once, whatever the checks found on it. The symptoms
// at other places of a cable that carries nothing become a part of its finding.

/// Puts a finding into another one, which keeps its check, level and confidence, and names the other check in `also`.
void fold(Finding& to, Finding from);

/// Puts the findings of each cable together: the worst of them with the evidence and the details of all. The result is sorted by level,
/// then by check and place, whatever order `findings` has.
Findings merge(Findings findings, const Input& input);

/// Moves symptoms into the findings that explain them (Finding::symptom, Finding::lost): links that siblings have and a node has not, into
/// the finding that these links are gone; the silence at both ports of a cable that is up and passes nothing, into one finding of that
/// cable; requests that were lost on such a cable, or on one whose ports are not Active; counters of a cable that are full or were cleared.
/// `findings` come from merge(), and stay in their order.
Findings explain(Findings findings, const Input& input);

// What the physical layer says of the ports of a finding: why a port is down, its bit error ratios, its module.

/// What was read of a port, as a phrase: the trouble, the last reason why the link went down, ratios, the module. Text of the device is
/// escaped. Empty if nothing is worth a word.
std::string layer_text(const phy::PortRow& row, bool is_up);

/// Adds to each finding of a cable, or of ports, what Input::phy has of the first ports of it; the remedy for the trouble of a port that is
/// down takes the place of the check's.
void add_layer(Findings& findings, const Input& input);

/// The ports of findings to which add_layer() adds something, the worst first; each once.
std::vector<PortIndex> ports_of(const Findings& findings, const Input& input);

}  // namespace ib::health
