// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/parse.hpp"

namespace ib::health {
namespace {

using Member = double Thresholds::*;

constexpr std::pair<std::string_view, Member> members[] = {
    {"error_ratio", &Thresholds::error_ratio},
    {"warning_ratio", &Thresholds::warning_ratio},
    {"least_errors", &Thresholds::least_errors},
    {"recoveries_error", &Thresholds::recoveries_error},
    {"recoveries_a_minute", &Thresholds::recoveries_a_minute},
    {"events", &Thresholds::events},
    {"wait_ticks", &Thresholds::wait_ticks},
    {"congestion_heads", &Thresholds::congestion_heads},
    {"light_loss", &Thresholds::light_loss},
    {"lane_times", &Thresholds::lane_times},
    {"lane_ratio", &Thresholds::lane_ratio},
};

void set_threshold(const SettingLine& line, Thresholds& thresholds) {
  if (!line.has_equals) throw UsageError("not a line NAME=NUMBER");
  const std::string_view name = line.name, text = line.value;
  const auto* const found = std::ranges::find(members, name, &std::pair<std::string_view, Member>::first);
  if (found == std::end(members)) {
    std::vector<std::string_view> names;
    for (const auto& [known, member] : members) names.push_back(known);
    throw UsageError(fmt::format("no threshold is called {}{}", in_quotes(name), did_you_mean(name, names)));
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    throw UsageError(fmt::format("{} is not a number from 0 on", in_quotes(text)));
  thresholds.*(found->second) = value;
}

}  // namespace

void read_thresholds(std::string_view text, std::string_view file, Thresholds& thresholds) {
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    try {
      set_threshold(*line, thresholds);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}:{}: {}", harmless_line(file), line->number, error.message()));
    }
  }
}

}  // namespace ib::health
