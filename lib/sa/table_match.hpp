// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which records of a table a query selects: those whose components have the values of the query, for the components that its
// component mask names (IBA 15.2.1.1). The matching is generic over the descriptors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/sa.hpp"

namespace ib::sa {

// The codes of a rate (IBA 15.2.5.16) do not rise with the rate. The names of rates do not either: of "30 Gb/s" (12x SDR) a fifth is lost
// to coding, of "25 Gb/s" (1x EDR) almost nothing. Rates are ordered by their data, as in opensm.

/// The place of a rate in the order from slow to fast. 0 for a code without meaning.
unsigned order_of(Rate rate);

/// The place in this order of a link that carries `data_mbps` Mb/s of data.
unsigned order_of_data(double data_mbps);

/// A query, prepared for many records of one kind.
class TableMatch {
 public:
  /// `wanted` is the record of the query; missing bytes count as zero. With `all_of_these_bits`, the capability mask of a PortInfoRecord
  /// matches if it has at least the wanted bits: bit 31 of the attribute modifier requests this (IBA 15.2.5.3).
  TableMatch(const StructInfo& record, Bytes wanted, std::uint64_t component_mask, bool all_of_these_bits = false);

  /// Whether the query selects `row`. Missing bytes count as zero.
  bool operator()(Bytes row) const;

 private:
  /// How a component of a record is compared with the wanted one.
  enum class Comparison : std::uint8_t {
    equal,
    text,      ///< up to the first NUL
    all_bits,  ///< the record has all wanted bits
    less,      ///< the record's value is less; see IBA 15.2.5.16, table 172, for selectors
    greater,
  };
  struct Condition {
    std::uint32_t bit, width;
    Comparison comparison;
    bool is_rate = false;  ///< rates are compared by their order
  };
  void add(const FieldInfo& field, std::uint32_t bit, bool all_of_these_bits);
  void add_selected(const FieldInfo& field, std::uint64_t selector);
  bool passes(const Condition& condition, Bytes row) const;

  const StructInfo& record_;
  std::vector<std::uint8_t> wanted_;
  std::uint64_t mask_;
  std::vector<Condition> conditions_;
};

}  // namespace ib::sa
