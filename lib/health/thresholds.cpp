// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/parse.hpp"

namespace ib::health {
namespace {

constexpr std::array<ThresholdInfo, 8> infos{{
    {"error_ratio", &Thresholds::error_ratio, "errors a bit that are an error"},
    {"warning_ratio", &Thresholds::warning_ratio, "errors a bit that are a warning from EDR on"},
    {"least_errors", &Thresholds::least_errors, "errors in the window that are no chance"},
    {"recoveries_error", &Thresholds::recoveries_error, "link recoveries in the window that are an error"},
    {"recoveries_a_minute", &Thresholds::recoveries_a_minute, "and their rate"},
    {"events", &Thresholds::events, "events that a good link never has"},
    {"wait_ticks", &Thresholds::wait_ticks, "PortXmitWait a second from which a port counts as waiting"},
    {"congestion_heads", &Thresholds::congestion_heads, "the most findings of congestion"},
}};

void set_threshold(const SettingLine& line, Thresholds& thresholds) {
  if (!line.has_equals) throw UsageError("not a line NAME=NUMBER");
  const std::string_view name = line.name, text = line.value;
  const auto* const found = std::ranges::find(infos, name, &ThresholdInfo::name);
  if (found == infos.end()) {
    std::vector<std::string_view> names;
    for (const ThresholdInfo& info : infos) names.push_back(info.name);
    throw UsageError(fmt::format("no threshold is called {}{}", in_quotes(name), did_you_mean(name, names)));
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    throw UsageError(fmt::format("{} is no number from 0 on", in_quotes(text)));
  thresholds.*(found->value) = value;
}

}  // namespace

std::span<const ThresholdInfo> threshold_infos() { return infos; }

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
