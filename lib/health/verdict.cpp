// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/verdict.hpp"

#include <fmt/format.h>

#include <utility>

#include "health/diagnosis.hpp"
#include "health/finding_text.hpp"

namespace ib::health {
namespace {

std::string findings_text(const std::array<std::size_t, 3>& levels) {
  std::string text;
  for (const auto& [level, many] : {std::pair{Level::error, "errors"}, {Level::warning, "warnings"}, {Level::info, "infos"}}) {
    const std::size_t count = levels.at(static_cast<std::size_t>(level));
    if (count > 0) text += (text.empty() ? "" : ", ") + count_text(count, name(level), many);
  }
  return text.empty() ? "nothing found" : text;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"healthy", "findings", "unknown"};
  return names.at(static_cast<std::size_t>(verdict));
}

void VerdictFacts::take(const Diagnosis& diagnosis) {
  levels = diagnosis.levels;
  seconds = diagnosis.window_seconds;
  has_counters = diagnosis.has_counters;
  for (const Coverage* gap : diagnosis.gaps()) {
    if (gap->source == Source::window) {
      watched = coverage_text(*gap) + " for";
    } else {
      gaps.push_back(coverage_text(*gap));
    }
  }
}

std::string verdict_text(const VerdictFacts& facts) {
  constexpr std::array<std::string_view, 3> begins{"Healthy: ", "", "Not known, because not everything was read: "};
  std::string text = fmt::format("{}{} on {}, {}, {}; ", begins.at(static_cast<std::size_t>(facts.verdict)), findings_text(facts.levels),
                                 count_text(facts.host_count, "host", "hosts"), count_text(facts.switch_count, "switch", "switches"),
                                 count_text(facts.link_count, "cable", "cables"));
  for (const std::string& gap : facts.gaps) text += gap + ", ";
  if (facts.seconds) return text + fmt::format("{} {}.", facts.watched, duration_text(*facts.seconds));
  return text + (facts.has_counters ? "port states only: counters were read once." : "port states only: no counters were read.");
}

}  // namespace ib::health
