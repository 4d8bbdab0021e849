// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/flow.hpp"

#include <algorithm>

namespace ib::subnet {

/// Returns the current span, and removes requests that are older than the span before it.
Flow::Span Flow::advance(async::Time now) {
  age_ += std::min<async::Duration>(now - last_.value_or(now), young_span);
  last_ = now;
  const Span current = age_ / young_span;
  while (!young_.empty() && young_.front().span < current - 1) young_.pop_front();
  return current;
}

Flow::Span Flow::began(async::Time now) {
  const Span span = advance(now);
  if (young_.empty() || young_.back().span != span) young_.push_back({span, 0});
  ++young_.back().open;
  return span;
}

void Flow::ended(Span span) {
  for (Spanned& at : young_) {
    if (at.span == span) --at.open;
  }
}

std::size_t Flow::young(async::Time now) {
  advance(now);
  std::size_t count = 0;
  for (const Spanned& at : young_) count += at.open;
  return count;
}

}  // namespace ib::subnet
