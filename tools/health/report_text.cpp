// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as text: the verdict in the first line, each finding in two to four lines, a healthy fabric in a few lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "health/finding_text.hpp"
#include "health/window.hpp"
#include "tools/frame/counted.hpp"
#include "tools/health/report.hpp"

namespace ib::tools::health {

using ib::health::CheckResult;
using ib::health::CheckState;
using ib::health::duration_text;
using ib::health::Finding;
using ib::health::FindingText;
using ib::health::Level;

namespace {

constexpr std::size_t most_findings = 20;  // of a level; JSON has all
constexpr std::size_t most_checks = 2;     // of those not looked at for one reason
constexpr std::size_t text_width = 100;    // columns of the last paragraph
constexpr double day = 86400;              // seconds

std::string counted_of(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", counted(count), count == 1 ? one : many);
}

/// Writes a paragraph, broken between words.
void write_wrapped(TextOut& out, std::string_view text) {
  std::string_view indent;
  while (!text.empty()) {
    const std::size_t room = text_width - indent.size();
    std::size_t end = text.size() <= room ? text.size() : text.rfind(' ', room);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    out.print("{}{}\n", indent, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    indent = "  ";
  }
}

}  // namespace

void HealthReport::text(TextOut& out) const {
  text_verdict(out);
  text_window(out);
  std::array<std::size_t, 3> shown{}, left{};
  for (std::size_t at = 0, count = 0; at < diagnosis_.findings.size(); at += count) {
    const Finding& finding = diagnosis_.findings[at];
    const auto level = static_cast<std::size_t>(*finding.level);
    count = count_alike(at);
    if (++shown.at(level) <= most_findings) {
      text_finding(out, finding, count - 1);
    } else {
      left.at(level) += count;
    }
  }
  for (const Level level : {Level::error, Level::warning, Level::info}) {
    const std::size_t count = left.at(static_cast<std::size_t>(level));
    if (count > 0) out.print("… and {} more of level {}: --json has all.\n", counted(count), name(level));
  }
  text_not_looked_at(out);
}

void HealthReport::text_verdict(TextOut& out) const {
  if (!how_.first_line.empty()) return out.print("{}.\n", how_.first_line);
  std::string found;
  for (const auto& [level, many] : {std::pair{Level::error, "errors"}, {Level::warning, "warnings"}, {Level::info, "infos"}}) {
    const std::size_t count = diagnosis_.count(level);
    if (count > 0) found += (found.empty() ? "" : ", ") + counted_of(count, name(level), many);
  }
  const std::string_view of = verdict();
  const std::string_view begin = of == "healthy" ? "Healthy: " : of == "unknown" ? "Not known, for not all was read: " : "";
  out.print("{}{} on {}, {}, {}; ", begin, found.empty() ? "nothing found" : found, counted_of(host_count(), "host", "hosts"),
            counted_of(switch_count(), "switch", "switches"), counted_of(link_count(), "cable", "cables"));
  std::string watched = "watched";
  for (const ib::health::Coverage* gap : diagnosis_.gaps()) {
    if (gap->source == ib::health::Source::window) {
      watched = ib::health::coverage_text(*gap) + " for";
    } else {
      out.print("{}, ", ib::health::coverage_text(*gap));
    }
  }
  if (diagnosis_.window_seconds) {
    out.print("{} {}.\n", watched, duration_text(*diagnosis_.window_seconds));
  } else {
    out.write("states alone, no time was watched.\n");
  }
}

void HealthReport::text_window(TextOut& out) const {
  if (!diagnosis_.provable_ratio) return;
  const subnet::LinkRate& rate = diagnosis_.slowest;
  const std::string link = fmt::format("{}x {}", rate.lanes, subnet::name(rate.speed));
  const ib::health::Share& links = diagnosis_.proven_links;
  const std::string which = links.is_whole() ? std::string("a link")
                                             : fmt::format("each of the {} of {} links that were read at both ends", links.read, links.of);
  out.print("{} without an error prove that {} has fewer than {:.1e} errors a bit (95 %, {}); a day proves {:.1e}.\n",
            duration_text(*diagnosis_.window_seconds), which, *diagnosis_.provable_ratio, link,
            ib::health::provable_ratio(ib::health::bits_in(rate, day)));
}

std::size_t HealthReport::count_alike(std::size_t at) const {
  const ib::health::Findings& findings = diagnosis_.findings;
  const auto is_alike = [&](const Finding& of) {
    return of.check == findings[at].check && *of.level == Level::info && of.subject == Finding::Subject::group;
  };
  std::size_t count = 1;
  while (!how_.is_verbose && is_alike(findings[at]) && at + count < findings.size() && is_alike(findings[at + count])) ++count;
  return count;
}

void HealthReport::text_finding(TextOut& out, const Finding& finding, std::size_t more_alike) const {
  const FindingText words = this->words();
  if (*finding.level == Level::info && !how_.is_verbose) {
    const std::string more = more_alike == 0 ? std::string() : fmt::format(" {} more such: -v.", counted(more_alike));
    out.print("info: {} ({}): {}{}\n", finding.check->id, name(finding.confidence), words.brief(finding), more);
    return;
  }
  out.print("{}: {} ({}): {}\n", name(*finding.level), finding.check->id, name(finding.confidence), words.ends(finding));
  if (const std::string seen = words.seen(finding); !seen.empty()) out.print("  {}\n", seen);
  out.print("  {}\n  {}\n", finding.check->text, finding.what_to_do());
}

/// "link-slow, port-init and 3 more (REASON); " for the checks whose state `is_meant` accepts, by reason.
std::string HealthReport::checks_text(bool (*is_meant)(CheckState state)) const {
  using ChecksOfReason = std::pair<std::string, std::vector<std::string_view>>;
  std::vector<ChecksOfReason> rows;
  for (const CheckResult& result : diagnosis_.checks) {
    if (!is_meant(result.state)) continue;
    const auto known = std::ranges::find(rows, result.reason, &ChecksOfReason::first);
    ChecksOfReason& row = known == rows.end() ? rows.emplace_back(result.reason, std::vector<std::string_view>()) : *known;
    row.second.push_back(result.check->id);
  }
  std::string text;
  for (auto& [reason, checks] : rows) {
    const std::size_t more = checks.size() - std::min(checks.size(), most_checks);
    checks.resize(checks.size() - more);
    text += fmt::format("{}{} ({}); ", fmt::join(checks, ", "), more == 0 ? "" : fmt::format(" and {} more", more), reason);
  }
  return text;
}

void HealthReport::text_not_looked_at(TextOut& out) const {
  if (diagnosis_.implausible > 0) {
    out.print("{} more than links can carry, and left out.\n",
              counted_of(diagnosis_.implausible, "difference of counters was", "differences of counters were"));
  }
  if (const std::string partly = checks_text([](CheckState state) { return state == CheckState::partly; }); !partly.empty())
    write_wrapped(out, "Looked at in part: " + partly.substr(0, partly.size() - 2) + ".");
  const std::string left = checks_text([](CheckState state) { return state == CheckState::not_read || state == CheckState::skipped; });
  if (!left.empty()) write_wrapped(out, "Not looked at: " + left.substr(0, left.size() - 2) + ".");
}

}  // namespace ib::tools::health
