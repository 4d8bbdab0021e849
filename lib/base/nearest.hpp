// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the word that a user probably meant by a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ib {

/// The least number of letters to remove, insert, change or swap with a neighbour that turns `a` into `b`, without regard to
/// case (the optimal string alignment distance).
std::size_t letters_between(std::string_view a, std::string_view b);

/// The candidate with the least distance to `word`, the first one among equals. At most one third of the letters of `word` may
/// be wrong, but one letter always may. Empty if no candidate is that near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// ": did you mean NEAREST?" to end a complaint about `word`, or `otherwise` if no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view otherwise = {});

}  // namespace ib
