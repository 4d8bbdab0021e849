// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// All checks over one fabric, and what they come to.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "health/checks.hpp"
#include "health/finding.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/rate.hpp"

namespace ib::health {

/// What became of a check.
struct CheckResult {
  const Check* check{};
  CheckState state{};
  std::string reason{};         ///< why it is not done
  std::size_t finding_count{};  ///< findings in which it has a part
  bool is_run = true;           ///< it is done, or was done on the part that was read
};

struct Diagnosis {
  Findings findings;                     ///< the worst first, one a cable
  std::vector<CheckResult> checks;       ///< of all_checks()
  std::array<std::size_t, 3> levels{};   ///< findings by Level
  std::size_t implausible{};             ///< differences of counters that no link explains, and that were left out
  bool has_compared_firmware{};          ///< that of some nodes, with the baseline's
  std::optional<double> window_seconds;  ///< the shortest of all ports; absent without two readings
  std::optional<double> provable_ratio;  ///< the error ratio that the window proves on the slowest link
  subnet::LinkRate slowest{};            ///< its rate

  std::size_t count(Level level) const { return levels.at(static_cast<std::size_t>(level)); }
  /// Whether there is a finding of this level or a worse one.
  bool any_from(Level level) const;
  /// Whether a check was wanted and could not be done, as something did not answer.
  bool any_not_read() const;
};

/// Runs the checks of `selection` for which `input` has the sources. Only findings of `scope` are kept.
Diagnosis examine(const Input& input, const Selection& selection, const Scope& scope = {});

}  // namespace ib::health
