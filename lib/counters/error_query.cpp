// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/error_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t most_suppressed = 64;

std::string why_bad(const std::string& file, const ErrorThresholds::BadLine& line) {
  return fmt::format("{}:{}: {}", harmless(file), line.number, line.why);
}

}  // namespace

ErrorThresholds ErrorThresholds::usual() {
  constexpr std::pair<std::string_view, std::uint64_t> table[] = {
      {"symbol_error_counter", 10},
      {"link_error_recovery_counter", 10},
      {"link_downed_counter", 10},
      {"port_rcv_errors", 10},
      {"port_rcv_remote_physical_errors", 100},
      {"port_rcv_switch_relay_errors", 100},
      {"port_xmit_discards", 100},
      {"port_xmit_constraint_errors", 100},
      {"port_rcv_constraint_errors", 100},
      {"local_link_integrity_errors", 10},
      {"excessive_buffer_overrun_errors", 10},
      {"vl15_dropped", 100},
  };
  ErrorThresholds thresholds;
  for (const auto& [name, value] : table) thresholds.set(*find_counter(name), value);
  return thresholds;
}

ErrorThresholds ErrorThresholds::parse(std::string_view text) {
  ErrorThresholds thresholds;
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    const CounterInfo* counter = find_counter(line->name);
    const std::optional<std::uint64_t> most = parse_number(line->value);
    const std::string why = !line->has_equals    ? "not a line NAME=NUMBER"
                            : counter == nullptr ? fmt::format("no counter is called {}", in_quotes(line->name))
                            : !most              ? fmt::format("{} is not a number", in_quotes(line->value))
                                                 : std::string();
    if (why.empty()) {
      thresholds.set(*counter, *most);
    } else {
      thresholds.bad_lines_.push_back({line->number, why});
    }
  }
  return thresholds;
}

ErrorThresholds ErrorThresholds::read(const std::string& file) { return parse(read_regular_file(file, longest_thresholds_file)); }

ErrorThresholds ErrorThresholds::given_or_usual(const std::optional<std::string>& file, Log& log, ErrorThresholds usual) {
  if (file) {
    ErrorThresholds given = read(*file);
    if (!given.bad_lines().empty()) throw UsageError(why_bad(*file, given.bad_lines().front()));
    return given;
  }
  try {
    usual.add(read(default_error_thresholds_file));
  } catch (const SysError& error) {
    if (error.code() != ENOENT && error.code() != EACCES) throw;
  }
  for (const BadLine& line : usual.bad_lines()) log.warning(why_bad(default_error_thresholds_file, line));
  return usual;
}

std::optional<std::uint64_t> ErrorThresholds::find(std::string_view counter) const {
  const auto found = std::ranges::find_if(all_, [counter](const Threshold& known) { return known.counter->name == counter; });
  return found == all_.end() ? std::nullopt : std::optional(found->value);
}

void ErrorThresholds::set(const CounterInfo& counter, std::uint64_t value) {
  const auto found = std::ranges::find(all_, &counter, &Threshold::counter);
  if (found == all_.end()) {
    all_.push_back({&counter, value});
  } else {
    found->value = value;
  }
}

void ErrorThresholds::add(const ErrorThresholds& other) {
  for (const Threshold& threshold : other.all_) set(*threshold.counter, threshold.value);
  bad_lines_.insert(bad_lines_.end(), other.bad_lines_.begin(), other.bad_lines_.end());
}

bool needs_extended(const ErrorThresholds::Threshold& threshold) {
  const FieldInfo* narrow = threshold.counter->narrow;
  return narrow == nullptr || (narrow->bits < 64 && threshold.value >= (std::uint64_t{1} << narrow->bits) - 1);
}

subnet::Mismatches check_counters(const CounterRow& row, const ErrorThresholds& thresholds) {
  subnet::Mismatches findings;
  for (const auto& [counter, most] : thresholds.all()) {
    const std::optional<std::uint64_t> value = row.count(counter->column);
    if (most == 0 || value.value_or(0) <= most) continue;
    findings.push_back({.field = counter->named_field().iba_name,
                        .found = fmt::to_string(*value),
                        .expected = fmt::to_string(most),
                        .relation = subnet::Mismatch::Relation::at_most});
  }
  return findings;
}

const std::vector<const CounterInfo*>& error_counters() {
  static const std::vector<const CounterInfo*> counters = [] {
    std::vector<const CounterInfo*> found;
    for (const CounterInfo& counter : counter_infos()) {
      if (!counter.traffic && counter.narrow != nullptr && counter.name != "qp1_dropped") found.push_back(&counter);
    }
    return found;
  }();
  return counters;
}

std::string_view libibmad_name(const CounterInfo& counter) { return dialects_of(counter.named_field()).libibmad; }

bool ErrorQuery::read_thresholds(const std::string& file) {
  std::string content;
  try {
    content = read_regular_file(file, longest_thresholds_file);
  } catch (const Error&) {
    return false;
  }
  SettingLines lines(content);
  while (const auto line = lines.next()) {
    for (const CounterInfo* counter : error_counters()) {
      // Blanks before the name, or between it and '=', make the line one of another name.
      if (!line->whole.starts_with(fmt::format("{}=", libibmad_name(*counter)))) continue;
      set(*counter, std::strtoull(std::string(line->value).c_str(), nullptr, 0));
    }
  }
  return true;
}

void ErrorQuery::take(const ErrorThresholds& read) {
  for (const auto& [counter, value] : read.all()) {
    if (std::ranges::find(error_counters(), counter) != error_counters().end()) set(*counter, value);
  }
}

void ErrorQuery::set(const CounterInfo& counter, std::uint64_t value) {
  given.push_back({&counter, value});
  thresholds.set(counter, value);
}

void ErrorQuery::suppress(std::string_view name) {
  // Only fields that infiniband-diags has among PortCounters count: QP1Dropped stands elsewhere in its table.
  const auto is_called = [name](const FieldInfo& field) {
    return !field.reserved && field.name != "qp1_dropped" && dialects_of(field).libibmad == name;
  };
  if (name.empty() || std::ranges::none_of(pm::PortCounters::info().fields, is_called)) return;
  (suppressed.size() < most_suppressed ? suppressed : skipped).emplace_back(name);
}

bool ErrorQuery::is_suppressed(const CounterInfo& counter) const {
  return std::ranges::find(suppressed, libibmad_name(counter)) != suppressed.end();
}

std::vector<std::size_t> ErrorQuery::errors_of(const CounterRow& row) const {
  std::vector<std::size_t> errors;
  for (const CounterInfo* counter : error_counters()) {
    const std::uint64_t value = row.count(counter->column).value_or(0);
    if (value != 0 && value > threshold_of(counter->name) && !is_suppressed(*counter)) errors.push_back(counter->column);
  }
  return errors;
}

PortChanges ErrorQuery::growth(const RowDifference& difference) const {
  PortChanges traffic = difference.traffic();
  if (data_only) return traffic;
  PortChanges port;
  port.port = traffic.port;
  port.seconds = difference.error_seconds();
  for (const CounterInfo* counter : error_counters()) {
    const CounterChange change = difference.change(counter->column);
    const bool is_unclear = change.kind == ChangeKind::reset || change.kind == ChangeKind::implausible;
    const bool is_beyond = is_unclear || change.delta.value_or(0) > threshold_of(counter->name);
    if (is_beyond && !is_suppressed(*counter)) port.changes.push_back(change);
  }
  if (data) std::ranges::move(traffic.changes, std::back_inserter(port.changes));
  return port;
}

std::span<const CounterChange> ErrorQuery::errors_in(const PortChanges& growth) {
  const auto is_traffic = [](const CounterChange& of) { return columns[column_of(of.counter->name)].is_traffic(); };
  return {growth.changes.begin(), std::ranges::find_if(growth.changes, is_traffic)};
}

ReadingPlan ErrorQuery::plan() const {
  ReadingPlan plan;
  using Counts = ReadingPlan::Counts;
  plan.counts = data_only ? Counts::traffic : data ? Counts::all : Counts::errors;
  if (data_only) plan.ports = ReadingPlan::Ports::each;
  const auto further = [this](const PmaReading& reading) -> Further {
    const std::vector<std::size_t> errors = errors_of(reading.row);
    const auto has = [&errors](std::string_view counter) { return std::ranges::count(errors, column_of(counter)) != 0; };
    return {.ports = !errors.empty(),
            .discard_details = details && has("port_xmit_discards"),
            .error_details = details && has("port_rcv_errors")};
  };
  if (!data_only) plan.further = further;
  if (clears()) {
    plan.clear = [this](const CounterInfo& counter) {
      return counter.traffic ? clear_counts : clear_errors && counter.name != "qp1_dropped";
    };
  }
  plan.clear_details = clear_errors && details;
  return plan;
}

void ErrorSummary::add(const subnet::Subnet& subnet, const PmaNode& node, const ErrorQuery& query, bool counts_unread) {
  const auto counts = [counts_unread](const PmaReading& reading) { return counts_unread || reading.known(); };
  const auto failed = [this](const PmaProblem& problem) { failed_requests += problem.set ? 0 : 1; };
  bool bad = false;
  const auto take = [&](const PmaReading& reading) {
    std::ranges::for_each(reading.problems, failed);
    if (query.data_only || !query.has_errors(reading)) return false;
    return bad = true;
  };
  nodes += counts_unread || node.any_read() ? 1 : 0;
  if (node.problem) failed(*node.problem);
  if (node.all) take(*node.all);
  if (node.ports.empty() && node.all && counts(*node.all)) ports += subnet.node(node.node).info.num_ports;
  ports += static_cast<std::size_t>(std::ranges::count_if(node.ports, counts));
  for (const PmaReading& reading : node.ports) bad_ports += take(reading) ? 1 : 0;
  bad_nodes += bad ? 1 : 0;
}

std::vector<PortChanges> ErrorSummary::add_growth(const subnet::Subnet& subnet, const PmaNode& node, const ErrorQuery& query,
                                                  CounterHistory& history) {
  std::vector<PortChanges> grown;
  bool is_bad = false;
  for (const PmaReading& reading : node.ports) {
    if (!reading.known()) continue;
    ++ports;
    const std::optional<CounterRow> before = history.take(counter_key(subnet, node.node, reading.select), reading.row);
    if (!before) continue;
    PortChanges port = query.growth({&*before, reading.row, octets_per_second(subnet, reading.port)});
    const auto errors = ErrorQuery::errors_in(port);
    const bool has_counted = std::ranges::any_of(errors, [](const CounterChange& error) { return error.delta.has_value(); });
    bad_ports += has_counted ? 1 : 0;
    is_bad = is_bad || has_counted;
    if (!errors.empty() || query.data_only) grown.push_back(std::move(port));
  }
  nodes += node.any_read() ? 1 : 0;
  bad_nodes += is_bad ? 1 : 0;
  return grown;
}

}  // namespace ib::counters
