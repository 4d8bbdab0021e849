// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links whose registers show bit errors. One total says nothing: a ratio is judged by the time since the counters were cleared, a counter
// by two readings.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "health/checks/window.hpp"
#include "health/finding_text.hpp"
#include "phy/thresholds.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

using phy::PortRow;
using subnet::PortIndex;

/// Calls use() with each port that has a link and whose registers were read.
template <class Use>
void each_linked_row(const Input& input, Use use) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    if (input.subnet.port(at).peer != subnet::none) use(at, row);
  });
}

/// A kind of bit error ratio.
struct RatioKind {
  std::string_view field;
  std::optional<double> (*of)(const PortRow& row);
  phy::BerLimits phy::LinkLimits::*limits;
};

/// Adds a finding of each cable whose ratio is above a limit. The ratio by the time since the counters were cleared is a number of errors,
/// which chance must not explain.
void find_ratios(const Input& input, Findings& findings, const RatioKind& kind) {
  const std::size_t links = link_count(input.subnet);
  each_linked_row(input, [&](PortIndex at, const PortRow& row) {
    const std::optional<double> ratio = kind.of(row), seconds = phy::seconds_since_clear(row);
    const std::optional<phy::LinkLimits> limits = phy::ber_limits(row);
    const subnet::LinkRate rate = subnet::active_rate(input.subnet, at);
    if (!ratio || !seconds || !limits || !rate.known()) return;
    const double bits = bits_in(rate, *seconds), errors = *ratio * bits;
    const phy::BerLimits& of = (*limits).*kind.limits;
    for (const auto& [limit, level] : {std::pair{of.error, Level::error}, {of.warning, Level::warning}}) {
      if (*ratio <= limit || errors < input.thresholds.least_errors) continue;
      Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
      finding.level = level;
      finding.confidence = confidence_in(static_cast<std::uint64_t>(errors), bits * limit, links);
      Evidence& evidence = finding.evidence.emplace_back(beyond_limit(kind.field, *ratio, limit));
      evidence.seconds = *seconds;
      evidence.provable_ratio = provable_ratio(bits);
      finding.detail = fmt::format("The counters were cleared {} before; the limit is for {}.", duration_text(*seconds), limits->of);
      const double needed = phy::seconds_to_prove(limit, rate.data_mbps() * 1e6);
      if (*seconds < needed) {
        finding.confidence = std::min(finding.confidence, Confidence::likely);
        finding.add_sentence(fmt::format("A link at the limit has three errors in {}.", duration_text(needed)));
      }
      return;
    }
  });
}

void find_weak_lanes(const Input& input, Findings& findings) {
  each_linked_row(input, [&](PortIndex at, const PortRow& row) {
    const std::optional<phy::WeakLane> weak = phy::weak_lane(row, input.thresholds.lane_times, input.thresholds.lane_ratio);
    if (!weak || !phy::seconds_since_clear(row)) return;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
    finding.evidence.push_back(beyond_limit("raw_ber", weak->ber, input.thresholds.lane_ratio));
    finding.detail = fmt::format("That is lane {}; the next worst has {:g}.", weak->lane, weak->others);
  });
}

}  // namespace

std::span<const Check> physical_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"ber-effective", error, needs(phy), "The bit error ratio after FEC is above the limit for links of this kind.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_ratios(input, findings, {"effective_ber", phy::effective_ber, &phy::LinkLimits::effective});
       }},
      {"ber-symbol", error, needs(phy), "The symbol error ratio after FEC and retransmission is above the limit for links of this kind.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_ratios(input, findings, {"symbol_ber", phy::symbol_ber, &phy::LinkLimits::symbol});
       }},
      {"lane-weak", warning, needs(phy), "One lane has many more errors than its siblings: a dirty fibre, a bad contact, or a dying laser.",
       "Clean and reseat the connectors; if the lane stays weak, replace the cable, then the transceiver.", find_weak_lanes},
  };
  return checks;
}

}  // namespace ib::health
