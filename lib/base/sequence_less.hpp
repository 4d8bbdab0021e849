// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The order of sequences of numbers in maps and sets.
#pragma once

#include <algorithm>

namespace ib {

/// Element by element, as `<` of two vectors. That operator compares only the first bytes of unsigned integers on big-endian machines with
/// the library of g++ 12.
struct SequenceLess {
  template <class Sequence>
  bool operator()(const Sequence& a, const Sequence& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

}  // namespace ib
