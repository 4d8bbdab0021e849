// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/attributes.hpp"

#include <array>

#include "iba-gen/pm.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t mandatory = 2;  // IBA 16.1.3.5: PortCounters; PortCountersExtended is counted with it

}  // namespace

std::span<const StructInfo* const> counter_attributes() {
  static const std::array all{
      &pm::PortCounters::info(),
      &pm::PortCountersExt::info(),
      &pm::PortXmitDataSL::info(),
      &pm::PortRcvDataSL::info(),
      &pm::PortXmitDiscardDetails::info(),
      &pm::PortRcvErrorDetails::info(),
      &pm::PortExtendedSpeedsCounters::info(),  // the attribute has a second layout, for links with RS-FEC
      &pm::PortOpRcvCounters::info(),
      &pm::PortFlowCtlCounters::info(),
      &pm::PortVLOpPackets::info(),
      &pm::PortVLOpData::info(),
      &pm::PortVLXmitFlowCtlUpdateErrors::info(),
      &pm::PortVLXmitWaitCounters::info(),
      &pm::SwPortVLCongestion::info(),
      &pm::PortRcvConCtrl::info(),
      &pm::PortSLRcvFecn::info(),
      &pm::PortSLRcvBecn::info(),
      &pm::PortXmitConCtrl::info(),
      &pm::PortVLXmitTimeCong::info(),
      &pm::PortSamplesCtl::info(),
  };
  return all;
}

std::span<const StructInfo* const> optional_counter_attributes() { return counter_attributes().subspan(mandatory); }

const StructInfo& extended_speeds_layout(smp::FecMode mode) {
  const bool is_rs = mode == smp::FecMode::rs_fec || mode == smp::FecMode::rs_fec2;
  return is_rs ? pm::PortExtendedSpeedsCountersRsFec::info() : pm::PortExtendedSpeedsCounters::info();
}

bool is_selector(const FieldInfo& field) {
  return field.reserved || field.name == "op_code" || field.name == "port_select" || field.name.starts_with("counter_select");
}

}  // namespace ib::counters
