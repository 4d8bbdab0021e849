// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The names of the columns of a counter row in the two exporters whose names are used here.
#pragma once

#include <span>
#include <string_view>

#include "counters/row.hpp"

namespace ib::metrics {

/// A column of a row, and its names.
struct Column : counters::Column {
  std::string_view treydock;    ///< "transmit_data_bytes", of "infiniband_switch_port_transmit_data_bytes_total"; empty: it has none
  std::string_view guilbaults;  ///< "portxmitdata", of "infiniband_portxmitdata_total"; empty: it has none
  std::string_view help;

  /// Whether it counts words of 32 bits, which treydock's exporter shows as bytes.
  constexpr bool is_data() const { return meaning == counters::Meaning::data; }
};

/// All columns, in the order of counters::columns.
std::span<const Column> columns();

}  // namespace ib::metrics
