// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/nearest.hpp"

#include <fmt/format.h>

namespace ib {

std::size_t letters_between(std::string_view a, std::string_view b) {
  // Three rows of the table of distances between the prefixes of both words.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) && to_lower(a[i - 2]) == to_lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  // A longer word is hardly a typing mistake, and its table would be large.
  constexpr std::size_t longest = 64;
  std::string_view best;
  if (word.size() < 2 || word.size() > longest) return best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t letters = letters_between(word, candidate);
    if (letters >= least || letters >= candidate.size()) continue;
    least = letters;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view otherwise) {
  const std::string_view meant = nearest(word, candidates);
  return meant.empty() ? std::string(otherwise) : fmt::format(": did you mean {}?", meant);
}

std::vector<std::string_view> nearest_few(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t most = 3, least_letters = 3;
  const std::string_view best = nearest(word, candidates);
  const std::size_t letters = letters_between(word, best);
  const std::string part = to_lower(word);
  std::vector<std::string_view> few;
  for (const std::string_view candidate : candidates) {
    if (few.size() == most) break;
    // A name with more words around it is hardly another proposal.
    const bool is_there = std::ranges::any_of(few, [&](std::string_view one) { return candidate.find(one) != std::string_view::npos; });
    if (is_there) continue;
    const bool is_near = best.empty() ? word.size() >= least_letters && to_lower(candidate).find(part) != std::string::npos
                                      : letters_between(word, candidate) == letters && candidate.size() > letters;
    if (is_near) few.push_back(candidate);
  }
  return few;
}

std::string did_you_mean_of_list(std::string_view word, std::span<const std::string_view> candidates, std::string_view list) {
  const std::vector<std::string_view> few = nearest_few(word, candidates);
  std::string text;
  if (!few.empty()) text = fmt::format(": did you mean {}?", joined(few, ", "));
  if (!list.empty()) text += fmt::format(" ({} lists all)", list);
  return text;
}

}  // namespace ib
