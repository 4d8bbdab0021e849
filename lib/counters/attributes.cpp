// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/attributes.hpp"

#include "iba-gen/pm.hpp"

namespace ib::counters {

const StructInfo& extended_speeds_layout(smp::FecMode mode) {
  const bool is_rs = mode == smp::FecMode::rs_fec || mode == smp::FecMode::rs_fec2;
  return is_rs ? pm::PortExtendedSpeedsCountersRsFec::info() : pm::PortExtendedSpeedsCounters::info();
}

bool is_selector(const FieldInfo& field) {
  return field.reserved || field.name == "op_code" || field.name == "port_select" || field.name.starts_with("counter_select");
}

}  // namespace ib::counters
