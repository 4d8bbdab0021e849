// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which records of a table a query selects: those whose components have the values of the query, for the components that its
// component mask names (IBA 15.2.1.1). The matching is generic over the descriptors. It selects as opensm does. opensm ignores some
// components that the IBA requires an SA to compare; see heeded_components().
//
// PathRecords are not matched here, because an SA computes them for the query (sa/stored_paths.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib::sa {

/// The bits of a component mask that select records of a kind. The other bits do nothing, as in opensm: a SwitchInfoRecord is
/// selected by its LID only, an InformInfoRecord by its subscriber. Reserved fields never select.
std::uint64_t heeded_components(const StructInfo& record);

/// Facts on which the comparison of PortInfoRecords depends besides the record.
struct PortInfoMatch {
  /// A capability mask matches if it has at least the wanted bits. Bit 31 of the attribute modifier requests this (IBA 15.2.5.3).
  bool all_of_these_bits = false;
  /// Whether the extended link speeds of a record are valid. opensm compares only valid ones. For a port of a switch, port 0 of the
  /// switch decides. Without this function, the record itself decides.
  std::function<bool(Bytes row)> has_extended_speeds = {};
};

/// A query, prepared for many records of one kind.
class TableMatch {
 public:
  /// `wanted` is the record of the query; missing bytes count as zero.
  TableMatch(const StructInfo& record, Bytes wanted, std::uint64_t component_mask, PortInfoMatch ports = {});

  /// Whether the query selects `row`. Missing bytes count as zero.
  bool operator()(Bytes row) const;

 private:
  /// How a component of a record is compared with the wanted one.
  enum class How : std::uint8_t {
    equal,
    text,      ///< up to the first NUL
    all_bits,  ///< the record has all wanted bits
    less,      ///< the record's value is less; see IBA 15.2.5.16, table 172, for selectors
    greater,
    slower,  ///< less and greater for rates
    faster,
    same_rate,
    partition,  ///< the same partition, and not limited members on both sides
    extended,   ///< equal, or the port has no extended link speeds
  };
  struct Test {
    std::uint32_t bit, width;
    How how;
  };
  void add(const FieldInfo& field, std::uint32_t bit, std::uint32_t width);
  void add_selected(const FieldInfo& field, std::uint32_t bit, std::uint64_t selector);
  bool passes(const Test& test, Bytes row) const;

  const StructInfo& record_;
  std::vector<std::uint8_t> wanted_;
  std::uint64_t mask_;
  PortInfoMatch ports_;
  std::vector<Test> tests_;
};

/// Whether a query with `wanted` and `component_mask` selects `row`. For one record; a TableMatch is faster for many.
bool matches(const StructInfo& record, Bytes row, Bytes wanted, std::uint64_t component_mask);

}  // namespace ib::sa
