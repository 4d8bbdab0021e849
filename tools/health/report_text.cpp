// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as text: the verdict in the first line, each finding in two to four lines, a healthy fabric in a few lines.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "health/window.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"
#include "subnet/port_label.hpp"
#include "tools/frame/counted.hpp"
#include "tools/health/report.hpp"

namespace ib::tools::health {

using ib::health::CheckResult;
using ib::health::CheckState;
using ib::health::Evidence;
using ib::health::Finding;
using ib::health::Level;
using ib::health::Place;
using ib::health::Value;

namespace {

constexpr std::size_t most_findings = 20;  // of a level; JSON has all
constexpr std::size_t most_ends = 3;       // of a group
constexpr std::size_t most_checks = 4;     // of those not looked at for one reason
constexpr double minute = 60, hour = 3600, day = 86400;

std::string counted_of(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", counted(count), count == 1 ? one : many);
}

std::string duration_text(double seconds) {
  if (seconds < 2 * minute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return seconds < 2 * day ? fmt::format("{:.1f} h", seconds / hour) : fmt::format("{:.1f} days", seconds / day);
}

std::string value_text(const Value& value) {
  if (!value.word.empty()) return std::string(value.word);
  if (const auto* count = std::get_if<std::uint64_t>(&value.number); count != nullptr) return std::to_string(*count);
  const auto* number = std::get_if<double>(&value.number);
  return number == nullptr ? "?" : fmt::format("{:g}", *number);
}

/// Whether the ends of a finding are a node, and then some of its ports.
bool is_of_whole_node(const Finding& finding) {
  return finding.subject == Finding::Subject::place && finding.ends.front().port == subnet::none;
}

std::string_view counter_name(const FieldInfo& counter) { return counter.libibmad_name.empty() ? counter.iba_name : counter.libibmad_name; }

}  // namespace

std::string HealthReport::place_text(const Place& place) const {
  if (place.node == subnet::none) return "a node that does not answer";
  const subnet::Subnet& subnet = fabric_of(place).subnet;
  const subnet::Node& node = subnet.node(place.node);
  std::string text = fmt::format("{} {}", quoted(subnet::name_of(node, &fabric.names)), to_text(node.guid()));
  if (place.port == subnet::none) return text;
  const std::string number = std::to_string(subnet.port(place.port).number);
  text += " port " + number;
  const std::string label = subnet::port_label(subnet, place.port);
  return label.empty() || label == number ? text : fmt::format("{} ({})", text, label);
}

std::string HealthReport::ends_text(const Finding& finding) const {
  const bool is_group = finding.subject == Finding::Subject::group;
  const bool is_of_nodes = is_group && finding.ends.front().port == subnet::none;
  std::string text;
  if (is_group)
    text = counted_of(finding.ends.size(), is_of_nodes ? "node, " : "port, ", is_of_nodes ? "nodes, for example " : "ports, for example ");
  const std::size_t shown = is_group ? std::min(most_ends, finding.ends.size()) : finding.ends.size();
  for (std::size_t at = 0; at < shown; ++at) {
    if (at != 0 && is_of_whole_node(finding)) break;
    text += (at == 0 ? "" : is_group ? "; " : " -- ") + place_text(finding.ends[at]);
  }
  return text;
}

std::string HealthReport::evidence_text(const Finding& finding, const Evidence& evidence) const {
  std::string text;
  if (evidence.counter == nullptr) {
    const std::string was = evidence.before.known() ? fmt::format("was {}, ", value_text(evidence.before)) : std::string();
    text = fmt::format("{} {}is {}", evidence.field, was, value_text(evidence.after));
    if (!evidence.limit_word.empty()) {
      text += fmt::format(", not {}", evidence.limit_word);
    } else if (evidence.limit) {
      text += fmt::format(", not {:g}", *evidence.limit);
    }
  } else if (evidence.delta && *evidence.delta != 0) {
    text = fmt::format("{} +{}", counter_name(*evidence.counter), *evidence.delta);
    if (evidence.seconds) text += fmt::format(" in {} ({:.3g}/s", duration_text(*evidence.seconds), *evidence.per_second());
    if (evidence.seconds && evidence.limit) text += fmt::format(", limit {:.6g}", *evidence.limit);
    if (evidence.seconds) text += ")";
  } else if (evidence.before.known() && evidence.before.number != evidence.after.number) {
    text = fmt::format("{} was {}, is {}", counter_name(*evidence.counter), value_text(evidence.before), value_text(evidence.after));
  } else {
    text = fmt::format("{} is {}", counter_name(*evidence.counter), value_text(evidence.after));
  }
  const bool is_pair = finding.subject != Finding::Subject::group && finding.ends.size() == 2;
  if (is_of_whole_node(finding) && evidence.end != 0) {
    text += fmt::format(" at port {}", fabric.subnet.port(finding.ends[evidence.end].port).number);
  } else if (is_pair && evidence.end == 1) {
    text += " at the other end";
  }
  return text;
}

std::string HealthReport::seen_text(const Finding& finding) const {
  const std::size_t most = finding.subject == Finding::Subject::group ? most_ends : finding.evidence.size();
  std::string text;
  for (std::size_t at = 0; at < finding.evidence.size() && at < most; ++at)
    text += (at == 0 ? "" : "; ") + evidence_text(finding, finding.evidence[at]);
  if (finding.evidence.size() > most) text += "; …";
  if (!text.empty()) text += '.';
  if (!finding.detail.empty()) text += (text.empty() ? "" : " ") + finding.detail;
  return text;
}

void HealthReport::text(TextOut& out) const {
  text_verdict(out);
  text_window(out);
  std::array<std::size_t, 3> shown{};
  for (const Finding& finding : diagnosis_.findings) {
    if (++shown.at(static_cast<std::size_t>(*finding.level)) <= most_findings) text_finding(out, finding);
  }
  for (const Level level : {Level::error, Level::warning, Level::info}) {
    const std::size_t count = diagnosis_.count(level);
    if (count > most_findings) out.print("… and {} more of level {}: --json has all.\n", counted(count - most_findings), name(level));
  }
  text_not_looked_at(out);
}

void HealthReport::text_verdict(TextOut& out) const {
  std::string found;
  for (const auto& [level, many] : {std::pair{Level::error, "errors"}, {Level::warning, "warnings"}, {Level::info, "infos"}}) {
    const std::size_t count = diagnosis_.count(level);
    if (count > 0) found += (found.empty() ? "" : ", ") + counted_of(count, name(level), many);
  }
  const std::string_view of = verdict();
  const std::string_view begin = of == "healthy" ? "Healthy: " : of == "unknown" ? "Not known, for parts did not answer: " : "";
  out.print("{}{} on {}, {}, {}; ", begin, found.empty() ? "nothing found" : found, counted_of(host_count(), "host", "hosts"),
            counted_of(switch_count(), "switch", "switches"), counted_of(ib::health::link_count(fabric.subnet), "cable", "cables"));
  if (diagnosis_.window_seconds) {
    out.print("watched {}.\n", duration_text(*diagnosis_.window_seconds));
  } else {
    out.write("states alone, no time was watched.\n");
  }
}

void HealthReport::text_window(TextOut& out) const {
  if (!diagnosis_.provable_ratio) return;
  const subnet::LinkRate& rate = diagnosis_.slowest;
  const std::string link = fmt::format("{}x {}", rate.lanes, subnet::name(rate.speed));
  out.print("{} without an error prove that a link has fewer than {:.1e} errors a bit (95 %, {}); a day proves {:.1e}.\n",
            duration_text(*diagnosis_.window_seconds), *diagnosis_.provable_ratio, link,
            ib::health::provable_ratio(ib::health::bits_in(rate, day)));
}

void HealthReport::text_finding(TextOut& out, const Finding& finding) const {
  out.print("{}: {} ({}): {}\n", name(*finding.level), finding.check->id, name(finding.confidence), ends_text(finding));
  if (const std::string seen = seen_text(finding); !seen.empty()) out.print("  {}\n", seen);
  out.print("  {}\n  {}\n", finding.check->text, finding.check->remedy);
}

void HealthReport::text_not_looked_at(TextOut& out) const {
  if (diagnosis_.implausible > 0) {
    out.print("{} more than links can carry, and left out.\n",
              counted_of(diagnosis_.implausible, "difference of counters was", "differences of counters were"));
  }
  using Row = std::pair<std::string, std::vector<std::string_view>>;  // a reason, and the checks
  std::vector<Row> rows;
  for (const CheckResult& result : diagnosis_.checks) {
    if (result.state == CheckState::done) continue;
    const auto known = std::ranges::find(rows, result.reason, &Row::first);
    Row& row = known == rows.end() ? rows.emplace_back(result.reason, std::vector<std::string_view>()) : *known;
    row.second.push_back(result.check->id);
  }
  out.write("Not looked at: ");
  for (auto& [reason, checks] : rows) {
    const std::size_t more = checks.size() - std::min(checks.size(), most_checks);
    checks.resize(checks.size() - more);
    out.print("{}{} ({}); ", fmt::join(checks, ", "), more == 0 ? "" : fmt::format(" and {} more", more), reason);
  }
  out.write("temperatures, serial numbers of cables and firmware, which the MADs of the IBA do not tell.\n");
}

}  // namespace ib::tools::health
