// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of counters that perfquery knows, and how each dialect calls them.
#pragma once

#include <span>
#include <string_view>

#include "iba/struct_info.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools::perfquery {

/// The words for an attribute of counters, which the parts counters and details of a snapshot have too.
struct CounterSet {
  Spelling spelling;  ///< of its option; empty: PortCounters, which is what is shown by default
  const StructInfo& (*info)();
  std::string_view title;  ///< in its headings and complaints
  std::string_view help;

  /// PortCounters and PortCountersExtended: their headings describe the PMA, and they are shown of several ports.
  bool is_basic() const;
  bool is_extended() const;
  bool is_sampling() const;
  /// infiniband-diags' words where the attribute cannot be read, or set.
  std::string cannot_read() const;
  std::string cannot_reset() const;
};

/// All of them, PortCounters first.
std::span<const CounterSet> counter_sets();

}  // namespace ib::tools::perfquery
