// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of errors that moved between two readings, and who broke the packets that others count. A packet that breaks on a link is
// counted at the port that receives it, is marked, and is forwarded. Each later port counts it in PortRcvRemotePhysicalErrors
// (IBA 16.1.3.5), although its own link is good.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "health/checks/window.hpp"
#include "iba-gen/reg.hpp"
#include "iba/registry.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

/// The meaning of a number of errors in a window on a link.
struct Judgement {
  bool is_finding{};
  Level level{};
  Confidence confidence = Confidence::possible;
  double limit{};  ///< errors
  std::string_view detail{};
};

/// Errors are a finding from a number on that depends on the window and the rate of the link. On links before EDR the counters are in front
/// of error correction, where only the greater ratio is promised.
Judgement judge(const Input& input, PortIndex port, std::uint64_t errors, double seconds, std::size_t links) {
  const Thresholds& limits = input.thresholds;
  const subnet::LinkRate rate = subnet::active_rate(input.subnet, port);
  const double count = static_cast<double>(errors);
  // Without a rate there is no ratio: what is seen is that errors come, not that they are too many.
  if (!rate.known()) {
    return {count >= limits.least_errors, Level::warning, Confidence::possible, limits.least_errors,
            "The rate of the link is not known, and with it the error ratio."};
  }
  const double bits = bits_in(rate, seconds);
  // A ratio such as 1e-12 is not a binary number, and processors differ in how they round the product.
  constexpr double rounding = 1 + 1e-12;
  const auto is_beyond = [&](double ratio) { return count >= limits.least_errors && count > bits * ratio * rounding; };
  const double error_mean = bits * limits.error_ratio, warning_mean = bits * limits.warning_ratio;
  if (is_beyond(limits.error_ratio))
    return {true, Level::error, confidence_in(errors, error_mean, links), std::max(limits.least_errors, error_mean)};
  if (rate.speed < subnet::Speed::edr || !is_beyond(limits.warning_ratio)) return {};
  return {true, Level::warning, confidence_in(errors, warning_mean, links), std::max(limits.least_errors, warning_mean)};
}

/// Adds a finding of each cable on which a counter has counted too much for its rate and the window.
template <class Describe>
void find_by_ratio(const Input& input, Findings& findings, std::string_view counter, Describe describe) {
  const std::size_t links = link_count(input.subnet);
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* change = counts.find(counter);
    if (change == nullptr || !counts.seconds) continue;
    const Judgement judgement = judge(input, counts.port, counted_of(input, counts, *change), *counts.seconds, links);
    if (!judgement.is_finding) continue;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, counts.port));
    finding.level = judgement.level;
    finding.confidence = judgement.confidence;
    finding.evidence.push_back(evidence_of(input, counts, *change, 0, judgement.limit));
    finding.detail = judgement.detail;
    describe(counts, finding);
    hedge(finding, *change);
  }
}

/// Adds what the details say of the errors: the cable did not cause all of them.
void describe_details(const Input& input, const PortChanges& counts, Finding& finding) {
  struct Detail {
    std::string_view counter, means;
  };
  constexpr Detail others[] = {
      {"port_malformed_packet_errors", "Packets were malformed: the sender's adapter or its firmware, rather than the cable."},
      {"port_buffer_overrun_errors", "Packets came without a buffer: credits or VLs differ, or a receiver is broken."},
      {"port_dlid_mapping_errors", "Packets had a DLID that leads nowhere: forwarding tables."},
      {"port_vl_mapping_errors", "Packets had an SL without a VL: SLtoVL mapping tables."},
      {"port_looping_errors", "Packets were to go out where they came in: forwarding tables."},
  };
  if (const CounterChange* local = counts.find("port_local_physical_errors"); local != nullptr)
    finding.evidence.push_back(evidence_of(input, counts, *local, 0));
  for (const Detail& detail : others) {
    const CounterChange* change = counts.find(detail.counter);
    if (change == nullptr || change->delta.value_or(0) == 0) continue;
    finding.evidence.push_back(evidence_of(input, counts, *change, 0));
    finding.add_sentence(detail.means);
  }
}

struct Blame {
  std::map<subnet::PortIndex, std::size_t> victims;  ///< by the port that received broken packets: how many ports got them after it
  /// Nodes through which broken packets came, with the number of ports that got them, where no port that was read broke them.
  std::map<subnet::NodeIndex, std::size_t> sources;
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

/// The way of marked packets to one port, against their direction.
class Trail {
 public:
  Trail(const Input& input, Blame& blame) : input_(input), blame_(blame) {}

  void follow(PortIndex victim) {
    std::vector<PortIndex> from{victim};
    seen_ = {victim};
    while (!from.empty()) {
      const PortIndex port = from.back();
      from.pop_back();
      step(port, from);
    }
  }

 private:
  /// From a port that received marked packets to the ports by which they came to its neighbour.
  void step(PortIndex port, std::vector<PortIndex>& from) {
    const subnet::Subnet& subnet = input_.subnet;
    const PortIndex peer = subnet.port(port).peer;
    if (peer == subnet::none) return;
    const NodeIndex neighbour = subnet.port(peer).node;
    bool is_explained = false;
    if (subnet.node(neighbour).kind() != subnet::NodeKind::sw) {  // it forwards nothing
      ++blame_.sources[neighbour];
      return;
    }
    for (const subnet::Port& of : subnet.ports_of(subnet.node(neighbour))) {
      const PortIndex at = subnet.node(neighbour).first_port + of.number;
      if (at == peer) continue;
      if (breaks_packets(input_, at)) {
        is_explained = true;
        if (seen_.insert(at).second) ++blame_.victims[at];
      } else if (passes_broken(input_, at)) {
        is_explained = true;
        if (seen_.insert(at).second) from.push_back(at);
      }
    }
    if (!is_explained) ++blame_.sources[neighbour];
  }

  const Input& input_;
  Blame& blame_;
  std::set<PortIndex> seen_;
};

/// Follows the marked packets of each port against their direction to the ports with errors of their own.
Blame blame(const Input& input) {
  Blame found;
  Trail trail(input, found);
  for (const PortChanges& counts : input.counts.all()) {
    if (passes_broken(input, counts.port)) trail.follow(counts.port);
  }
  return found;
}

std::string ports_text(std::size_t count) { return fmt::format("{} port{}", count, count == 1 ? "" : "s"); }

/// Adds findings of broken packets whose origin is at no port that was read.
void find_unknown_origins(const Blame& found, Findings& findings) {
  for (const auto& [node, victims] : found.sources) {
    Finding& finding = findings.emplace_back(on_node(node));
    finding.level = Level::warning;
    finding.confidence = Confidence::possible;
    finding.detail = fmt::format(
        "{} behind this node received packets that were corrupted before (PortRcvRemotePhysicalErrors), but no "
        "port that was read corrupted them.",
        ports_text(victims));
  }
}

void find_receive_errors(const Input& input, Findings& findings) {
  const Blame found = blame(input);
  find_by_ratio(input, findings, "port_rcv_errors", [&](const PortChanges& counts, Finding& finding) {
    describe_details(input, counts, finding);
    const auto victims = found.victims.find(counts.port);
    if (victims == found.victims.end()) return;
    finding.confidence = Confidence::sure;
    finding.add_sentence(
        fmt::format("Its corrupted packets reached {} behind it, which had no errors of their own.", ports_text(victims->second)));
  });
  find_unknown_origins(found, findings);
}

/// Adds findings of uncorrectable blocks that registers have counted between two readings of them.
void find_uncorrected_by_registers(const Input& input, Findings& findings) {
  static const FieldInfo* const counter = find_field(reg::PpcntPhysical::info(), "rs_fec_uncorrectable_blocks");
  input.each_phy_row([&](PortIndex at, const phy::PortRow& row) {
    if (input.subnet.port(at).peer == subnet::none) return;
    const phy::PortRow* before = input.phy_before.find(at);
    if (before == nullptr || !before->has(phy::Part::physical) || !row.has(phy::Part::physical)) return;
    const std::optional<double> then = phy::seconds_since_clear(*before), now = phy::seconds_since_clear(row);
    if (then && now && *now <= *then) return;  // they were cleared in between
    counters::CounterChange change = counters::change_of(before->uncorrectable_blocks, row.uncorrectable_blocks, 64);
    if (static_cast<double>(change.delta.value_or(0)) < input.thresholds.events) return;
    Evidence evidence;
    evidence.counter = counter;
    evidence.before.number = before->uncorrectable_blocks;
    evidence.after.number = row.uncorrectable_blocks;
    evidence.delta = change.delta;
    evidence.limit = input.thresholds.events;
    if (then && now) evidence.seconds = *now - *then;
    findings.emplace_back(on_cable(input.subnet, at)).evidence.push_back(evidence);
  });
}

void find_uncorrectable_blocks(const Input& input, Findings& findings) {
  for (const std::string_view counter : {"port_fec_uncorrectable_block_ctr", "fec_uncorrectable_block_ctr_lane"})
    find_events(input, findings, counter);
  find_uncorrected_by_registers(input, findings);
}

void find_recoveries(const Input& input, Findings& findings) {
  constexpr double minute = 60;
  const Thresholds& limits = input.thresholds;
  const std::size_t before = findings.size();
  find_events(input, findings, "link_error_recovery_counter");
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

}  // namespace

std::span<const Check> error_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"symbol-errors", error, needs(window), "The bit error rate of this link is above the limit.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_by_ratio(input, findings, "symbol_error_counter", [](const PortChanges&, Finding&) {});
       }},
      {"receive-errors", error, needs(window), "Packets arrive corrupted, and are retransmitted or lost.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       find_receive_errors},
      {"fec-uncorrectable", error, needs(window, blocks), "FEC found uncorrectable blocks: packets were lost.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       find_uncorrectable_blocks},
      {"link-recovery", warning, needs(window), "The link lost synchronisation and retrained: packets waited or were lost.",
       "Clean and reseat the connectors; if it happens again, replace the cable.", find_recoveries},
  };
  return checks;
}

}  // namespace ib::health
