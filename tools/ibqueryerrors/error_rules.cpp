// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "tools/frame/options.hpp"
#include "tools/ibqueryerrors/wanted.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

constexpr std::size_t longest_file = std::size_t{1} << 20;  // bytes
constexpr std::size_t most_suppressed = 64;

/// Whether infiniband-diags has a field of PortCounters of that name. QP1Dropped stands elsewhere in its table.
bool names_field(std::string_view name) {
  return std::ranges::any_of(pm::PortCounters::info().fields, [name](const FieldInfo& field) {
    return !field.reserved && field.name != "qp1_dropped" && dialects_of(field).libibmad == name;
  });
}

}  // namespace

const std::vector<const counters::CounterInfo*>& error_counters() {
  static const std::vector<const counters::CounterInfo*> counters = [] {
    std::vector<const counters::CounterInfo*> found;
    for (const counters::CounterInfo& counter : counters::counter_infos()) {
      if (!counter.traffic && counter.narrow != nullptr && counter.name != "qp1_dropped") found.push_back(&counter);
    }
    return found;
  }();
  return counters;
}

std::string_view counter_name(const counters::CounterInfo& counter) {
  return dialects_of(counter.narrow != nullptr ? *counter.narrow : *counter.wide).libibmad;
}

bool ErrorRules::read_thresholds(const std::string& file) {
  std::string text;
  try {
    text = read_regular_file(file, longest_file);
  } catch (const Error&) {
    return false;
  }
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    for (const counters::CounterInfo* counter : error_counters()) {
      // Blanks before the name, or between it and '=', make the line one of another name.
      if (!line->whole.starts_with(fmt::format("{}=", counter_name(*counter)))) continue;
      set_threshold(*counter, c_number(std::string(line->value)));
    }
  }
  return true;
}

void ErrorRules::take(const counters::ErrorThresholds& thresholds) {
  for (const auto& [counter, value] : thresholds.all()) {
    if (std::ranges::find(error_counters(), counter) != error_counters().end()) set_threshold(*counter, value);
  }
}

void ErrorRules::set_threshold(const counters::CounterInfo& counter, std::uint64_t value) {
  text_ += fmt::format("[{} = {}]", counter_name(counter), value);
  thresholds_.set(counter, value);
}

void ErrorRules::suppress(std::string_view name) {
  if (!names_field(name)) return;
  (suppressed_.size() < most_suppressed ? suppressed_ : skipped_).emplace_back(name);
}

bool ErrorRules::is_suppressed(const counters::CounterInfo& counter) const {
  return std::ranges::find(suppressed_, counter_name(counter)) != suppressed_.end();
}

bool ErrorRules::is_error(const counters::CounterRow& row, const counters::CounterInfo& counter) const {
  const std::uint64_t value = row.count(counter.column).value_or(0);
  return value != 0 && value > threshold_of(counter.name) && !is_suppressed(counter);
}

bool ErrorRules::is_error(const counters::CounterRow& row, std::string_view name) const {
  return std::ranges::any_of(error_counters(), [&](const auto* counter) { return counter->name == name && is_error(row, *counter); });
}

std::vector<std::size_t> ErrorRules::errors_of(const counters::CounterRow& row) const {
  std::vector<std::size_t> errors;
  for (const counters::CounterInfo* counter : error_counters()) {
    if (is_error(row, *counter)) errors.push_back(counter->column);
  }
  return errors;
}

}  // namespace ib::tools::ibqueryerrors
