// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"

namespace ib::counters {
namespace {

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
      thresholds.bad_lines_.push_back({line->number, std::string(line->whole), why});
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
    const FieldInfo& field = counter->narrow != nullptr ? *counter->narrow : *counter->wide;
    findings.push_back({.field = field.iba_name,
                        .found = fmt::to_string(*value),
                        .expected = fmt::to_string(most),
                        .relation = subnet::Mismatch::Relation::at_most});
  }
  return findings;
}

}  // namespace ib::counters
