// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The checks. To add one: a function and a row at the end of the file of its topic in checks/, a test and a paragraph in ibtool-health(1).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// A check: its name, and the meaning of its findings.
struct Check {
  std::string_view id;                                  ///< `symbol-errors`: never changes
  Level level;                                          ///< of its findings, unless they say otherwise
  Sources needs;                                        ///< besides Source::topology
  std::string_view text;                                ///< why a finding matters, as a sentence
  std::string_view remedy;                              ///< what to do, as a sentence; actions in braces (Finding::what_to_do)
  void (*run)(const Input& input, Findings& findings);  ///< adds what it finds
  bool is_of_link = false;                              ///< the PortInfo and counters of one link show it: no sweep is needed
};

/// All checks by topic, in the order of the manual page.
std::span<const Check> all_checks();
/// The check of that id; null if there is none.
const Check* find_check(std::string_view id);

/// Which checks the user wants.
struct Selection {
  std::vector<const Check*> only;  ///< empty: all
  std::vector<const Check*> skip;
  std::string_view why_not = "not requested";  ///< the reason given for the checks that are not among these
  bool has(const Check& check) const;
  /// What the wanted checks need together.
  Sources needs() const;
};

}  // namespace ib::health
