// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The right word for a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ib {

/// How many letters must be left out, added, changed or swapped with their neighbour to make `b` of `a`, without regard to case
/// (the optimal string alignment distance).
std::size_t letters_between(std::string_view a, std::string_view b);

/// The one of `candidates` that `word` is nearest to, the first among equals; empty where none is near: every third letter may be
/// wrong, at least one.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// ": did you mean NEAREST?" for the end of a complaint about `word`, or `otherwise` where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view otherwise = {});

}  // namespace ib
