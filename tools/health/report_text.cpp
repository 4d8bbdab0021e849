// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as text: the verdict in the first line, each finding in two to four lines, a healthy fabric in a few lines.
#include <fmt/format.h>

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
  const std::string_view begin = of == "healthy" ? "Healthy: " : of == "unknown" ? "Not known, for parts did not answer: " : "";
  out.print("{}{} on {}, {}, {}; ", begin, found.empty() ? "nothing found" : found, counted_of(host_count(), "host", "hosts"),
            counted_of(switch_count(), "switch", "switches"), counted_of(link_count(), "cable", "cables"));
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
  out.print("  {}\n  {}\n", finding.check->text, finding.check->remedy);
}

void HealthReport::text_not_looked_at(TextOut& out) const {
  if (diagnosis_.implausible > 0) {
    out.print("{} more than links can carry, and left out.\n",
              counted_of(diagnosis_.implausible, "difference of counters was", "differences of counters were"));
  }
  using SkippedChecks = std::pair<std::string, std::vector<std::string_view>>;  // a reason, and the checks
  std::vector<SkippedChecks> rows;
  for (const CheckResult& result : diagnosis_.checks) {
    if (result.state == CheckState::done) continue;
    const auto known = std::ranges::find(rows, result.reason, &SkippedChecks::first);
    SkippedChecks& row = known == rows.end() ? rows.emplace_back(result.reason, std::vector<std::string_view>()) : *known;
    row.second.push_back(result.check->id);
  }
  std::string text = "Not looked at: ";
  for (auto& [reason, checks] : rows) {
    const std::size_t more = checks.size() - std::min(checks.size(), most_checks);
    checks.resize(checks.size() - more);
    text += fmt::format("{}{} ({}); ", fmt::join(checks, ", "), more == 0 ? "" : fmt::format(" and {} more", more), reason);
  }
  text += fmt::format("temperatures, cable serial numbers{} (no MAD tells them).", diagnosis_.has_compared_firmware ? "" : ", firmware");
  write_wrapped(out, text);
}

}  // namespace ib::tools::health
