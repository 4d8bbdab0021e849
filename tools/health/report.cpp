// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as JSON, and as text: the verdict in the first line, findings with what was seen and what to do, a healthy fabric in a few
// lines. On a terminal lines are broken to its width, and levels have colours.
#include "tools/health/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/split.hpp"
#include "health/checks/common.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/remedy_text.hpp"

namespace ib::tools::health {

using report::Cell;

/// Writes paragraphs, each broken once, to the width of the terminal.
class Lines {
 public:
  Lines(TextOut& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}

  /// A paragraph, `indent` columns from the left. Its first `marked` bytes are in a colour.
  void write(std::string_view text, std::size_t indent = 0, std::size_t marked = 0, std::string_view colour = {}) {
    std::vector<std::string_view> parts{text};
    if (terminal_.width) parts = wrap(text, std::max(*terminal_.width, narrowest) - indent - hanging);
    bool is_first = true;
    for (const std::string_view line : parts) {
      const std::size_t coloured = is_first && terminal_.has_colours ? std::min(marked, line.size()) : 0;
      out_.print("{:{}}{}{}{}{}\n", "", is_first ? indent : indent + hanging, coloured > 0 ? colour : "", line.substr(0, coloured),
                 coloured > 0 ? no_colour : "", line.substr(coloured));
      is_first = false;
      ++count_;
    }
  }
  bool is_long() const { return count_ >= terminal_.height.value_or(usual_height); }

 private:
  static constexpr std::size_t usual_height = 24;  // lines of a screen, where there is no terminal
  static constexpr std::size_t narrowest = 40;     // columns
  static constexpr std::size_t hanging = 2;        // columns by which lines after the first are indented more
  static constexpr std::string_view no_colour = "\x1b[0m";

  TextOut& out_;
  const Terminal& terminal_;
  std::size_t count_{};
};

namespace {

constexpr std::size_t most_findings = 20;  // of a level; JSON has all
constexpr std::size_t most_checks = 2;     // of those not checked for one reason
constexpr double day = 86400;              // seconds

std::string_view colour_of(Level level) {
  constexpr std::array<std::string_view, 3> colours{"\x1b[34m", "\x1b[33m", "\x1b[31m"};
  return colours.at(static_cast<std::size_t>(level));
}
constexpr std::string_view good_colour = "\x1b[32m";

bool is_congestion(const Finding& finding) { return finding.check->id == "congestion" || finding.check->id == "discards-congestion"; }

void visit_value(report::Sink& sink, std::string_view key, const ib::health::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value.number); count != nullptr) {
    sink.symbol(key, *count, value.word);
  } else if (const auto* number = std::get_if<double>(&value.number); number != nullptr) {
    sink.symbol(key, *number, value.word);
  } else {
    sink.no_symbol(key);
  }
}

/// What the window proves on the link of a finding of error ratios; absent for another finding.
std::optional<double> provable_ratio_of(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence) {
    const std::string_view check = evidence.check->id;
    if (evidence.provable_ratio && (check == "symbol-errors" || check == "receive-errors")) return evidence.provable_ratio;
  }
  return std::nullopt;
}

void visit_evidence(report::Sink& sink, const Evidence& evidence) {
  sink.value("check", evidence.check->id);
  sink.text_or_null("counter", evidence.counter != nullptr ? evidence.counter->name : std::string_view());
  sink.text_or_null("field", evidence.field);
  sink.value("which_end", evidence.end);
  visit_value(sink, "value_before", evidence.before);
  visit_value(sink, "value_after", evidence.after);
  sink.value("delta", evidence.delta);
  sink.value("per_second", evidence.per_second());
  sink.value("limit", evidence.limit);
  sink.value("provable_error_ratio", evidence.provable_ratio);
}

std::vector<FindingLine> lines_of(const HealthReport& report, const Findings& findings) {
  std::vector<FindingLine> lines;
  for (const Finding& finding : findings) lines.push_back({&report, &finding});
  return lines;
}

Cell also_cell(const FindingLine& line) {
  std::string words;
  for (const Check* check : line.finding->also) add_part(words, check->id, ",");
  const auto write = [&line](report::Sink& sink, std::string_view key) {
    sink.array(key, line.finding->also, [&](const Check* check) { sink.value({}, check->id); });
  };
  return report::Nested{std::move(words), write};
}
Cell text_cell(const FindingLine& line) {
  const std::string seen = line.report->words().seen(*line.finding);
  return Cell(seen + (seen.empty() ? "" : " ") + std::string(line.finding->check->text));
}
Cell ends_cell(const FindingLine& line) {
  const auto write = [&line](report::Sink& sink, std::string_view key) {
    const bool is_manager = line.finding->subject == Finding::Subject::manager;
    sink.objects(key, line.finding->ends, [&](const Place& place) { line.report->visit_end(sink, place, is_manager); });
  };
  return report::Nested{line.report->words().ends(*line.finding), write};
}
Cell evidence_cell(const FindingLine& line) {
  std::string words;
  for (const Evidence& evidence : line.finding->evidence) add_part(words, line.report->words().evidence(*line.finding, evidence), "; ");
  const auto write = [&line](report::Sink& sink, std::string_view key) {
    sink.objects(key, line.finding->evidence, [&](const Evidence& evidence) { visit_evidence(sink, evidence); });
  };
  return report::Nested{std::move(words), write};
}

/// Findings with one remedy: what was seen of each, then why it matters and what to do, once for all.
void text_alike(Lines& lines, const FindingText& words, const std::vector<const Finding*>& findings) {
  for (const Finding* finding : findings) {
    const Level level = *finding->level;
    lines.write(fmt::format("{}: {} ({}): {}", name(level), finding->check->id, name(finding->confidence), words.ends(*finding)), 0,
                name(level).size(), colour_of(level));
    if (const std::string seen = words.seen(*finding); !seen.empty()) lines.write(seen, 2);
  }
  const std::string all = findings.size() == 1 ? std::string() : fmt::format("All {}: ", findings.size());
  lines.write(all + std::string(findings.front()->check->text), 2);
  lines.write(remedy_text(findings.front()->what_to_do()), 2);
}

/// "link-slow, port-init and 3 more (REASON); " for the checks whose state `is_meant` accepts, by reason.
std::string checks_text(const Diagnosis& diagnosis, bool (*is_meant)(CheckState state)) {
  using ChecksOfReason = std::pair<std::string, std::vector<std::string_view>>;
  std::vector<ChecksOfReason> rows;
  for (const CheckResult& result : diagnosis.checks) {
    if (!is_meant(result.state)) continue;
    const auto known = std::ranges::find(rows, result.reason, &ChecksOfReason::first);
    ChecksOfReason& row = known == rows.end() ? rows.emplace_back(result.reason, std::vector<std::string_view>()) : *known;
    row.second.push_back(result.check->id);
  }
  std::string text;
  for (auto& [reason, checks] : rows) {
    const std::size_t more = checks.size() - std::min(checks.size(), most_checks);
    checks.resize(checks.size() - more);
    text += fmt::format("{}{} ({}); ", joined(checks, ", "), more == 0 ? "" : fmt::format(" and {} more", more), reason);
  }
  return text;
}

void text_not_looked_at(Lines& lines, const Diagnosis& diagnosis) {
  if (diagnosis.implausible > 0) {
    lines.write(fmt::format("{} more than links can carry, and left out.",
                            count_text(diagnosis.implausible, "difference of counters was", "differences of counters were")));
  }
  if (const std::string partly = checks_text(diagnosis, [](CheckState state) { return state == CheckState::partly; }); !partly.empty())
    lines.write("Checked in part: " + partly.substr(0, partly.size() - 2) + ".");
  const std::string left =
      checks_text(diagnosis, [](CheckState state) { return state == CheckState::not_read || state == CheckState::skipped; });
  if (!left.empty()) lines.write("Not checked: " + left.substr(0, left.size() - 2) + ".");
}

}  // namespace

std::span<const report::Column<FindingLine>> finding_columns() {
  static const std::array<report::Column<FindingLine>, 9> columns{{
      {{.key = "check", .heading = "CHECK", .usual = true}, [](const FindingLine& line) { return Cell(line.finding->check->id); }},
      {{.key = "also", .heading = "ALSO"}, also_cell},
      {{.key = "level", .heading = "LEVEL", .usual = true}, [](const FindingLine& line) { return Cell(name(*line.finding->level)); }},
      {{.key = "confidence", .heading = "CONFIDENCE"}, [](const FindingLine& line) { return Cell(name(line.finding->confidence)); }},
      {{.key = "text", .heading = "TEXT", .usual = true}, text_cell},
      {{.key = "remedy", .heading = "REMEDY"}, [](const FindingLine& line) { return Cell(remedy_text(line.finding->what_to_do())); }},
      {{.key = "provable_error_ratio", .heading = "PROVABLE"},
       [](const FindingLine& line) { return report::cell(provable_ratio_of(*line.finding)); }},
      {{.key = "ends", .heading = "ENDS", .usual = true}, ends_cell},
      {{.key = "evidence", .heading = "EVIDENCE"}, evidence_cell},
  }};
  return columns;
}

HealthReport::HealthReport(const Host& host, const Fabric& of, const Fabric* before, const HealthRequest& wanted, const Diagnosis& found,
                           const phy::Table* registers)
    : FabricReport(of),
      before_(before),
      wanted_(wanted),
      diagnosis_(found),
      phy_(registers),
      terminal_(terminal_of(host.world())),
      is_verbose_(host.options().verbosity > 0) {}

HealthReport::HealthReport(Stack& stack, const HealthRequest& wanted, const DownPort& down)
    : HealthReport(stack.host(), down.own, down.former.fabric(), wanted, down.diagnosis) {
  first_line_ = stack.down_text();
  is_verbose_ = true;
}

void HealthReport::emit(Emit& emit, const TableOptions& options) const {
  const auto lines = [this] { return lines_of(*this, diagnosis_.findings); };
  emit_either(emit, options, *this, "findings", finding_columns(), lines);
}

void HealthReport::visit(report::Sink& sink) const {
  sink.value("verdict", name(verdict()));
  sink.begin_object("levels");
  for (const Level level : {Level::error, Level::warning, Level::info}) sink.value(name(level), diagnosis_.count(level));
  sink.end_object();
  sink.value("host_count", diagnosis_.host_count);
  sink.value("switch_count", diagnosis_.switch_count);
  sink.value("link_count", diagnosis_.link_count);
  sink.value("window_seconds", diagnosis_.window_seconds);
  sink.value("provable_error_ratio", diagnosis_.provable_ratio);
  sink.value("implausible_count", diagnosis_.implausible);
  sink.objects("coverage", diagnosis_.coverage, [&](const Coverage& covered) {
    sink.value("covered", name_of_covered(covered.source));
    sink.value("nodes_read", covered.nodes.read);
    sink.value("nodes_wanted", covered.nodes.of);
    sink.value("ports_read", covered.ports.read);
    sink.value("ports_wanted", covered.ports.of);
  });
  report::Table<FindingLine>(finding_columns()).visit(sink, "findings", lines_of(*this, diagnosis_.findings));
  sink.objects("checks", diagnosis_.checks, [&](const CheckResult& result) {
    sink.value("check", result.check->id);
    sink.value("check_state", name(result.state));
    sink.text_or_null("reason", result.reason);
    sink.value("finding_count", result.finding_count);
    result.ports ? sink.value("ports_read", result.ports->read) : sink.null("ports_read");
    result.ports ? sink.value("ports_wanted", result.ports->of) : sink.null("ports_wanted");
  });
  visit_failures(sink);
}

/// Writes an end of a finding. With `is_manager` the end is a subnet manager: the port is only the place where it runs, and is not written.
void HealthReport::visit_end(report::Sink& sink, const Place& place, bool is_manager) const {
  if (place.node == subnet::none) {
    for (const char* key : {"node_guid", "node_description", "node_name", "port_num", "port_label", "lid"}) sink.null(key);
    sink.no_symbol("node_type");
    sink.null("phy");
    return;
  }
  const Fabric& of = place.is_before ? *before_ : fabric;
  const Subnet& subnet = of.subnet;
  report::write_members(sink, name_columns(), NodeLine{&of, place.node});
  const bool is_port = place.port != subnet::none;
  is_port && !is_manager ? sink.value("port_num", subnet.port(place.port).number) : sink.null("port_num");
  sink.text_or_null("port_label", is_port && !is_manager ? subnet::port_label(subnet, place.port) : std::string());
  const subnet::Node& node = subnet.node(place.node);
  const PortIndex of_node = node.kind() == NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
  const Lid lid = subnet.lid(is_port ? place.port : of_node);
  sink.lid_or_null("lid", lid);
  const phy::PortRow* row = is_port && !place.is_before && phy_ != nullptr ? phy_->find(place.port) : nullptr;
  if (row == nullptr) {
    sink.null("phy");
    return;
  }
  sink.begin_object("phy");
  phy::visit(sink, *row);
  sink.end_object();
}

void HealthReport::text(TextOut& out) const {
  Lines lines(out, terminal_);
  const std::string first = first_line_.empty() ? verdict_text(verdict(), diagnosis_) : first_line_ + ".";
  const bool is_healthy = first_line_.empty() && verdict() == Verdict::healthy;
  const auto write_verdict = [&] { lines.write(first, 0, is_healthy ? first.find(':') : 0, good_colour); };
  write_verdict();
  if (!wanted_.hosts.empty() && diagnosis_.window_seconds) {  // whether they wait for each other
    const auto count = static_cast<std::size_t>(std::ranges::count_if(diagnosis_.findings, is_congestion));
    lines.write(fmt::format("Congestion between these hosts: {}.", count == 0 ? "none" : count_text(count, "finding", "findings")));
  }
  if (diagnosis_.provable_ratio) {
    const subnet::LinkRate& rate = diagnosis_.slowest;
    const Share& links = diagnosis_.proven_links;
    const std::string which = links.is_whole()
                                  ? std::string("a link")
                                  : fmt::format("each of the {} of {} links that were read at both ends", links.read, links.of);
    lines.write(fmt::format("{} without an error prove that {} has fewer than {:.1e} errors a bit (95 %, {}); a day proves {:.1e}.",
                            duration_text(*diagnosis_.window_seconds), which, *diagnosis_.provable_ratio, rate_text(rate),
                            provable_ratio(bits_in(rate, day))));
  }
  text_findings(lines);
  text_not_looked_at(lines, diagnosis_);
  if (lines.is_long()) write_verdict();
}

/// Infos take one line, but not with -v, and with --nodes not congestion.
bool HealthReport::is_brief(const Finding& finding) const {
  return *finding.level == Level::info && !is_verbose_ && (wanted_.hosts.empty() || !is_congestion(finding));
}

std::size_t HealthReport::count_alike(std::size_t at) const {
  const Findings& findings = diagnosis_.findings;
  const auto is_alike = [&](const Finding& of) {
    return of.check == findings[at].check && is_brief(of) && of.subject == Finding::Subject::group;
  };
  std::size_t count = 1;
  while (is_alike(findings[at]) && at + count < findings.size() && is_alike(findings[at + count])) ++count;
  return count;
}

/// The findings from the worst on, with --nodes congestion before the others. Findings of one level with one remedy stand together.
void HealthReport::text_findings(Lines& lines) const {
  struct Shown {
    std::vector<const Finding*> findings;  ///< with the same check, level and remedy
    std::size_t more{};                    ///< brief ones that share the line
  };
  std::vector<Shown> shown;
  std::array<std::size_t, 3> counts{}, left{};
  for (std::size_t at = 0, count = 0; at < diagnosis_.findings.size(); at += count) {
    const Finding& finding = diagnosis_.findings[at];
    const auto level = static_cast<std::size_t>(*finding.level);
    count = count_alike(at);
    if (++counts.at(level) > most_findings) {
      left.at(level) += count;
      continue;
    }
    const auto is_same = [&finding](const Shown& row) {
      const Finding& first = *row.findings.front();
      return first.check == finding.check && first.level == finding.level && first.what_to_do() == finding.what_to_do();
    };
    const auto known = is_brief(finding) ? shown.end() : std::ranges::find_if(shown, is_same);
    if (known != shown.end()) {
      known->findings.push_back(&finding);
    } else {
      shown.push_back({{&finding}, count - 1});
    }
  }
  if (!wanted_.hosts.empty()) std::ranges::stable_partition(shown, [](const Shown& row) { return is_congestion(*row.findings.front()); });
  for (const Shown& row : shown) {
    const Finding& first = *row.findings.front();
    if (!is_brief(first)) {
      text_alike(lines, words(), row.findings);
      continue;
    }
    const std::string more = row.more == 0 ? std::string() : fmt::format(" {} more like this: -v.", counted(row.more));
    lines.write(fmt::format("info: {} ({}): {}{}", first.check->id, name(first.confidence), words().brief(first), more), 0,
                name(Level::info).size(), colour_of(Level::info));
  }
  for (const Level level : {Level::error, Level::warning, Level::info}) {
    const std::size_t count = left.at(static_cast<std::size_t>(level));
    if (count > 0) lines.write(fmt::format("… and {} more of level {}: --json has all.", counted(count), name(level)));
  }
}

}  // namespace ib::tools::health
