// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of errors that moved between two readings.
#include <fmt/format.h>

#include <utility>

#include "health/checks/blame.hpp"
#include "health/checks/check_functions.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/window.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

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
  // A ratio such as 1e-12 is no binary number, and processors differ in how they round the product.
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
    Finding finding = on_cable(input.subnet, counts.port);
    finding.level = judgement.level;
    finding.confidence = judgement.confidence;
    finding.evidence.push_back(evidence_of(input, counts, *change, 0, judgement.limit));
    finding.detail = judgement.detail;
    describe(counts, finding);
    hedge(finding, *change);
    findings.push_back(std::move(finding));
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
    finding.detail += (finding.detail.empty() ? "" : " ") + std::string(detail.means);
  }
}

std::string ports_text(std::size_t count) { return fmt::format("{} port{}", count, count == 1 ? "" : "s"); }

/// Adds findings of broken packets whose origin is at no port that was read.
void find_unknown_origins(const Blame& found, Findings& findings) {
  for (const auto& [node, victims] : found.sources) {
    Finding finding = on_node(node);
    finding.level = Level::warning;
    finding.confidence = Confidence::possible;
    finding.detail = fmt::format(
        "{} behind this node received packets that were broken before (PortRcvRemotePhysicalErrors), and no port "
        "that was read broke them.",
        ports_text(victims));
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void find_symbol_errors(const Input& input, Findings& findings) {
  find_by_ratio(input, findings, "symbol_error_counter", [](const PortChanges&, Finding&) {});
}

void find_receive_errors(const Input& input, Findings& findings) {
  const Blame found = blame(input);
  find_by_ratio(input, findings, "port_rcv_errors", [&](const PortChanges& counts, Finding& finding) {
    describe_details(input, counts, finding);
    const auto victims = found.victims.find(counts.port);
    if (victims == found.victims.end()) return;
    finding.confidence = Confidence::sure;
    finding.detail += fmt::format("{}Its broken packets came to {} behind it, which had no errors of their own.",
                                  finding.detail.empty() ? "" : " ", ports_text(victims->second));
  });
  find_unknown_origins(found, findings);
}

void find_uncorrectable_blocks(const Input& input, Findings& findings) {
  for (const std::string_view counter : {"port_fec_uncorrectable_block_ctr", "fec_uncorrectable_block_ctr_lane"})
    find_counted(input, findings, counter, input.thresholds.events);
  find_uncorrected_by_registers(input, findings);
}

void find_recoveries(const Input& input, Findings& findings) {
  constexpr double minute = 60;
  const Thresholds& limits = input.thresholds;
  const std::size_t before = findings.size();
  find_counted(input, findings, "link_error_recovery_counter", limits.events);
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

void find_integrity_errors(const Input& input, Findings& findings) {
  find_counted(input, findings, "local_link_integrity_errors", input.thresholds.events);
}

void find_overruns(const Input& input, Findings& findings) {
  find_counted(input, findings, "excessive_buffer_overrun_errors", input.thresholds.events);
}

void find_constraint_errors(const Input& input, Findings& findings) {
  find_counted(input, findings, "port_xmit_constraint_errors", input.thresholds.events);
  find_counted(input, findings, "port_rcv_constraint_errors", input.thresholds.events);
}

void find_dropped_vl15(const Input& input, Findings& findings) { find_counted(input, findings, "vl15_dropped", input.thresholds.events); }

void find_relay_errors(const Input& input, Findings& findings) {
  find_counted(input, findings, "port_rcv_switch_relay_errors", input.thresholds.events);
}

}  // namespace ib::health
