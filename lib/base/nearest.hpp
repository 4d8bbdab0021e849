// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the word that a user probably meant by a mistyped one.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/split.hpp"

namespace ib {

/// The least number of letters to remove, insert, change or swap with a neighbour that turns `a` into `b`, without regard to
/// case (the optimal string alignment distance).
std::size_t letters_between(std::string_view a, std::string_view b);

/// The candidate with the least distance to `word`, the first one among equals. At most one third of the letters of `word` may
/// be wrong, but one letter always may. Empty if no candidate is that near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// ": did you mean NEAREST?" to end a complaint about `word`, or `otherwise` if no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view otherwise = {});

/// The few candidates that are nearest to `word`: those with the same least distance, as of nearest(); else the first ones that contain it
/// from the second letter on.
std::vector<std::string_view> nearest_few(std::string_view word, std::span<const std::string_view> candidates);

/// ": did you mean NodeInfo, PortInfo?" to end a complaint about `word`, and behind it " (LIST lists all)" where `list` is not empty.
std::string did_you_mean_of_list(std::string_view word, std::span<const std::string_view> candidates, std::string_view list);

/// The element of `table` that `word` means, in any case: one of its `names(element)`, or an abbreviation of no other element. Elements
/// that are `preferred` (null: all are) are searched for abbreviations before the others. `list` is the command that lists them all, for
/// the complaint. Throws UsageError.
template <class T, class Names>
const T& find_by_prefix(std::string_view word, std::span<const T> table, bool T::*preferred, Names names, std::string_view list = {}) {
  const std::string given = to_lower(word);
  std::set<const T*> found[2];  // preferred, others
  std::vector<std::string_view> all;
  for (const T& element : table) {
    for (const std::string_view name : names(element)) {
      all.push_back(name);
      const std::string full = to_lower(name);
      if (full == given && !full.empty()) return element;
      if (full.starts_with(given)) found[preferred == nullptr || element.*preferred ? 0 : 1].insert(&element);
    }
  }
  for (const std::set<const T*>& of_kind : found) {
    if (of_kind.size() > 1) throw UsageError("Ambiguous operation " + in_quotes(given));
    if (!of_kind.empty()) return **of_kind.begin();
  }
  throw UsageError("Unknown operation " + in_quotes(given) + did_you_mean_of_list(given, all, list));
}

}  // namespace ib
