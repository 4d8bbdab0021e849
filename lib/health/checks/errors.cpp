// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of errors that moved between two readings, and who broke the packets that others count. A packet that breaks on a link is
// counted at the port that receives it, is marked, and is forwarded. Each later port counts it in PortRcvRemotePhysicalErrors
// (IBA 16.1.3.5), although its own link is good.
//
// Links that went down, by LinkDowned of both ends. If both ends counted it, the cable is to blame. If only one end did, the node at the
// other end has restarted, or where that is a switch, the driver or the firmware of the host took the link down. If the counter of one end
// shows nothing, or the link did not come back, a restart is not proved.
#include <fmt/format.h>

#include <algorithm>

#include "health/checks/common.hpp"
#include "iba-gen/reg.hpp"
#include "iba/registry.hpp"

namespace ib::health {
namespace {

/// Weakens a finding whose cause, or whose place, the counters do not show.
void doubt(Finding& finding, std::string_view detail) {
  finding.level = Level::warning;
  finding.confidence = Confidence::possible;
  finding.detail = detail;
}

/// A finding of the cable at a port that has counted too many errors for its rate and the window. Nothing if it has not. On links before
/// EDR the counters are in front of error correction, where only the greater ratio is promised.
std::optional<Finding> judge(const Input& input, const PortChanges& counts, const CounterChange& change, std::size_t links) {
  const Thresholds& limits = input.thresholds;
  const subnet::LinkRate rate = subnet::active_rate(input.subnet, counts.port);
  const std::uint64_t errors = counted_of(input, counts, change);
  if (static_cast<double>(errors) < limits.least_errors) return std::nullopt;
  Finding finding = on_cable(input.subnet, counts.port);
  // Without a rate there is no ratio: what is seen is that errors come, not that they are too many.
  if (!rate.known()) {
    doubt(finding, "The rate of the link is not known, and with it the error ratio.");
    finding.evidence.push_back(evidence_of(input, counts, change, 0, limits.least_errors));
    return finding;
  }
  for (const auto& [ratio, level] : {std::pair{limits.error_ratio, Level::error}, {limits.warning_ratio, Level::warning}}) {
    // A ratio such as 1e-12 is not a binary number, and processors differ in how they round the product.
    constexpr double rounding = 1 + 1e-12;
    const double mean = bits_in(rate, *counts.seconds) * ratio;
    if (static_cast<double>(errors) <= mean * rounding || (level == Level::warning && rate.speed < subnet::Speed::edr)) continue;
    finding.level = level;
    finding.confidence = confidence_in(errors, mean, links);
    finding.evidence.push_back(evidence_of(input, counts, change, 0, std::max(limits.least_errors, mean)));
    return finding;
  }
  return std::nullopt;
}

/// Adds a finding of each cable on which a counter has counted too much for its rate and the window.
template <class Describe>
void find_by_ratio(const Input& input, Findings& findings, std::string_view counter, Describe describe) {
  const std::size_t links = link_count(input.subnet);
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* change = counts.find(counter);
    std::optional<Finding> finding = change != nullptr && counts.seconds ? judge(input, counts, *change, links) : std::nullopt;
    if (!finding) continue;
    describe(counts, *finding);
    hedge(*finding, *change);
    findings.push_back(std::move(*finding));
  }
}

/// Adds what the details say of the errors: the cable did not cause all of them.
void describe_details(const Input& input, const PortChanges& counts, Finding& finding) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"port_malformed_packet_errors", "Packets were malformed: the sender's adapter or its firmware, rather than the cable."},
      {"port_buffer_overrun_errors", "Packets came without a buffer: credits or VLs differ, or a receiver is broken."},
      {"port_dlid_mapping_errors", "Packets had a DLID that leads nowhere: forwarding tables."},
      {"port_vl_mapping_errors", "Packets had an SL without a VL: SLtoVL mapping tables."},
      {"port_looping_errors", "Packets were to go out where they came in: forwarding tables."},
  };
  if (const CounterChange* local = counts.find("port_local_physical_errors"); local != nullptr)
    finding.evidence.push_back(evidence_of(input, counts, *local, 0));
  for (const auto& [counter, meaning] : others) {
    const CounterChange* change = counts.find(counter);
    if (change == nullptr || change->delta.value_or(0) == 0) continue;
    finding.evidence.push_back(evidence_of(input, counts, *change, 0));
    finding.add_sentence(meaning);
  }
}

struct Blame {
  std::map<PortIndex, std::size_t> victims;  ///< by the port that received broken packets: how many ports got them after it
  /// Nodes through which broken packets came, with the number of ports that got them, where no port that was read broke them.
  std::map<NodeIndex, std::size_t> sources;
};

bool breaks_packets(const Input& input, PortIndex port) {
  const PortChanges* counts = input.counts.find(port);
  if (counts == nullptr) return false;
  return std::ranges::any_of(std::array{"port_rcv_errors", "symbol_error_counter"}, [&](const char* counter) {
    const CounterChange* change = counts->find(counter);
    return change != nullptr && counted_of(input, *counts, *change) != 0;
  });
}

bool passes_broken(const Input& input, PortIndex port) { return input.counts.delta(port, "port_rcv_remote_physical_errors") != 0; }

/// Follows the marked packets that a port received against their direction, to the ports with errors of their own.
void follow(const Input& input, PortIndex victim, Blame& blame) {
  const Subnet& subnet = input.subnet;
  std::set<PortIndex> seen{victim};
  std::vector<PortIndex> from{victim};
  while (!from.empty()) {
    const PortIndex peer = subnet.port(from.back()).peer;
    from.pop_back();
    if (peer == subnet::none) continue;
    const NodeIndex neighbour = subnet.port(peer).node;
    const subnet::Node& node = subnet.node(neighbour);
    const unsigned slots = node.kind() == NodeKind::sw ? node.slots : 0;  // other nodes forward nothing
    bool is_explained = false;
    for (PortIndex at = node.first_port; at < node.first_port + slots; ++at) {
      const bool breaks = breaks_packets(input, at);
      if (at == peer || (!breaks && !passes_broken(input, at))) continue;
      is_explained = true;
      if (!seen.insert(at).second) continue;
      if (breaks) ++blame.victims[at];
      if (!breaks) from.push_back(at);
    }
    if (!is_explained) ++blame.sources[neighbour];
  }
}

std::string ports_text(std::size_t count) { return fmt::format("{} port{}", count, count == 1 ? "" : "s"); }

void find_receive_errors(const Input& input, Findings& findings) {
  Blame found;
  for (const PortChanges& counts : input.counts.all()) {
    if (passes_broken(input, counts.port)) follow(input, counts.port, found);
  }
  find_by_ratio(input, findings, "port_rcv_errors", [&](const PortChanges& counts, Finding& finding) {
    describe_details(input, counts, finding);
    const auto victims = found.victims.find(counts.port);
    if (victims == found.victims.end()) return;
    finding.confidence = Confidence::sure;
    finding.add_sentence(
        fmt::format("Its corrupted packets reached {} behind it, which had no errors of their own.", ports_text(victims->second)));
  });
  for (const auto& [node, victims] : found.sources) {
    doubt(findings.emplace_back(on_node(node)),
          fmt::format("{} behind this node received packets that were corrupted before (PortRcvRemotePhysicalErrors), but no port that was "
                      "read corrupted them.",
                      ports_text(victims)));
  }
}

void find_uncorrectable_blocks(const Input& input, Findings& findings) {
  find_events(input, findings, {"port_fec_uncorrectable_block_ctr", "fec_uncorrectable_block_ctr_lane"});
  static const FieldInfo* const counter = find_field(reg::PpcntPhysical::info(), "rs_fec_uncorrectable_blocks");
  input.each_phy_row([&](PortIndex at, const phy::PortRow& row) {
    if (input.subnet.port(at).peer == subnet::none) return;
    const phy::PortRow* before = input.phy_before.find(at);
    if (before == nullptr || !before->has(phy::Part::physical) || !row.has(phy::Part::physical)) return;
    const std::optional<double> then = phy::seconds_since_clear(*before), now = phy::seconds_since_clear(row);
    if (then && now && *now <= *then) return;  // they were cleared in between
    counters::CounterChange change = counters::change_of(before->uncorrectable_blocks, row.uncorrectable_blocks, 64);
    if (static_cast<double>(change.delta.value_or(0)) < input.thresholds.events) return;
    Evidence evidence{.counter = counter,
                      .before = number(before->uncorrectable_blocks),
                      .after = number(row.uncorrectable_blocks),
                      .delta = change.delta,
                      .limit = input.thresholds.events};
    if (then && now) evidence.seconds = *now - *then;
    findings.push_back(on_cable(input.subnet, at, {evidence}));
  });
}

void find_recoveries(const Input& input, Findings& findings) {
  constexpr double minute = 60;
  const Thresholds& limits = input.thresholds;
  const std::size_t before = findings.size();
  find_events(input, findings, {"link_error_recovery_counter"});
  for (std::size_t at = before; at < findings.size(); ++at) {
    Evidence& evidence = findings[at].evidence.front();
    if (!evidence.delta) continue;
    const auto count = static_cast<double>(*evidence.delta);
    const bool is_often = evidence.per_second() && count * minute >= limits.recoveries_a_minute * *evidence.seconds;
    if (count < limits.recoveries_error || !is_often) continue;
    findings[at].level = Level::error;
    evidence.limit = limits.recoveries_error;
  }
}

constexpr std::string_view link_downed = "link_downed_counter";

/// The least number of times that the port has lost its link.
std::uint64_t downs_of(const Input& input, const PortChanges& counts) {
  const CounterChange* change = counts.find(link_downed);
  if (change == nullptr) return 0;
  const bool has_restarted = change->kind == ChangeKind::reset && counts.began_anew;  // it began at zero then
  return has_restarted ? 0 : counted_of(input, counts, *change);
}

enum class OtherEnd { counted, restarted, stands_still, is_full, was_cleared, not_read };

OtherEnd other_end(const Input& input, PortIndex peer) {
  const PortChanges* counts = peer == subnet::none ? nullptr : input.counts.find(peer);
  if (counts == nullptr) return OtherEnd::not_read;
  if (downs_of(input, *counts) != 0) return OtherEnd::counted;
  if (counts->began_anew) return OtherEnd::restarted;
  const CounterChange* change = counts->find(link_downed);
  if (change == nullptr) return OtherEnd::stands_still;
  if (change->is_full) return OtherEnd::is_full;
  return change->kind == ChangeKind::reset ? OtherEnd::was_cleared : OtherEnd::stands_still;
}

/// Describes a link that went down and is still away, by the peer that its port had before.
void describe_dead_link(const Input& input, Finding& finding) {
  const PortIndex peer = former_peer(input, finding.ends.front().port);
  if (peer != subnet::none) finding.ends.push_back(place_of(input.subnet, peer));
  finding.lost = finding.ends;
  if (peer == subnet::none) {
    doubt(finding, "It went down and did not come back. The node at its other end is switched off or gone, or it is not known.");
  } else if (other_end(input, peer) == OtherEnd::counted) {
    finding.detail = "Both ends counted it, and it did not come back.";
  } else {
    doubt(finding, "It went down and did not come back. The other end did not count it, or it is not known.");
  }
  const auto is_disabled = [&input](const Place& end) {
    return input.subnet.port(end.port).physical_state() == smp::PortPhysicalState::disabled;
  };
  if (std::ranges::any_of(finding.ends, is_disabled)) {
    finding.level = Level::warning;
    finding.detail += " A port of it is disabled.";
  }
}

/// Describes a link that went down and came back. Returns whether the restart of a node explains it.
bool describe_flap(const Input& input, Finding& finding, const CounterChange& change) {
  constexpr std::pair<OtherEnd, std::string_view> doubts[] = {
      {OtherEnd::is_full, "LinkDowned of the other end is saturated: it is not known whether that node restarted."},
      {OtherEnd::was_cleared, "LinkDowned of the other end was set to zero: it is not known whether that node restarted."},
      {OtherEnd::not_read, "The counters of the other end were not read: it may have been the restart of that node."},
  };
  const subnet::Port& port = input.subnet.port(finding.ends.front().port);
  const OtherEnd other = other_end(input, port.peer);
  for (const auto& [state, why] : doubts) {
    if (other == state) doubt(finding, why);
  }
  if (other == OtherEnd::counted) hedge(finding, change);
  if (other == OtherEnd::restarted) finding.detail = "The counters of the other end started again from zero.";
  if (other == OtherEnd::stands_still) {
    finding.confidence = Confidence::likely;
    const auto is_switch = [&input](PortIndex at) { return input.subnet.node_of(at).kind() == NodeKind::sw; };
    finding.detail = !is_switch(finding.ends.front().port) && is_switch(port.peer)
                         ? "The switch did not count it: the driver or the firmware of this host."
                         : "The other end did not count it.";
  }
  return other == OtherEnd::restarted || other == OtherEnd::stands_still;
}

/// Adds the links that went down because a node restarted, or the others.
void find_downs(const Input& input, Findings& findings, bool by_restarts) {
  for (const PortChanges& counts : input.counts.all()) {
    const std::uint64_t downs = downs_of(input, counts);
    if (downs == 0 || static_cast<double>(downs) < input.thresholds.events) continue;
    const CounterChange& change = *counts.find(link_downed);
    Finding finding = on_cable(input.subnet, counts.port, {evidence_of(input, counts, change, 0, input.thresholds.events)});
    const subnet::Port& port = input.subnet.port(counts.port);
    const bool is_dead = port.peer == subnet::none && !port.is_link_up();
    if (is_dead) describe_dead_link(input, finding);
    const bool is_restart = !is_dead && describe_flap(input, finding, change);
    if (is_restart == by_restarts) findings.push_back(std::move(finding));
  }
}

}  // namespace

std::span<const Check> error_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"symbol-errors", error, needs(window), "The bit error rate of this link is above the limit.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_by_ratio(input, findings, "symbol_error_counter", [](const PortChanges&, Finding&) {});
       },
       is_of_link},
      {"receive-errors", error, needs(window), "Packets arrive corrupted, and are retransmitted or lost.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.", find_receive_errors,
       is_of_link},
      {"fec-uncorrectable", error, needs(window, blocks), "FEC found uncorrectable blocks: packets were lost.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       find_uncorrectable_blocks},
      {"link-recovery", warning, needs(window), "The link lost synchronisation and retrained: packets waited or were lost.",
       "Clean and reseat the connectors; if it happens again, replace the cable.", find_recoveries, is_of_link},
      {"link-flap", error, needs(window), "The link went down, and no restart of a node explains it: jobs that used it have failed.",
       "Check whether a node was switched off; if not, replace the cable; if the link goes down again, the transceiver or the port.",
       [](const Input& input, Findings& findings) { find_downs(input, findings, false); }, is_of_link},
      {"link-restart", info, needs(window), "The link went down at one end only: the cause was a node, not the cable.",
       "Nothing if this was intended; else look at the log of the host.",
       [](const Input& input, Findings& findings) { find_downs(input, findings, true); }, is_of_link},
      {"link-integrity", error, needs(window), "Symbol errors exceeded the port's own limit (LocalPhyErrors).", "Replace the cable.",
       [](const Input& input, Findings& findings) { find_events(input, findings, {"local_link_integrity_errors"}); }, is_of_link},
      {"buffer-overrun", error, needs(window), "Packets arrived for which no buffer was free: the sender ignores credits.",
       "Compare the VLs of both ends ({query_vls}); update the firmware of the sender, which is the other end.",
       [](const Input& input, Findings& findings) { find_events(input, findings, {"excessive_buffer_overrun_errors"}); }, is_of_link},
  };
  return checks;
}

}  // namespace ib::health
