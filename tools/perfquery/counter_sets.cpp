// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/counter_sets.hpp"

#include <fmt/format.h>

#include "iba-gen/pm.hpp"

namespace ib::tools::perfquery {
namespace {

constexpr CounterSet sets[]{
    {{}, pm::PortCounters::info, "PortCounters", ""},
    {"-x --extended", pm::PortCountersExt::info, "PortCountersExtended", "Show PortCountersExtended: 64 bits each."},
    {"-X --xmtsl", pm::PortXmitDataSL::info, "PortXmitDataSL", "Show the data that was sent, by SL."},
    {"-S --rcvsl", pm::PortRcvDataSL::info, "PortRcvDataSL", "Show the data that was received, by SL."},
    {"-D --xmtdisc", pm::PortXmitDiscardDetails::info, "PortXmitDiscardDetails", "Show why packets were discarded before they were sent."},
    {"-E --rcverr", pm::PortRcvErrorDetails::info, "PortRcvErrorDetails", "Show details of receive errors."},
    {"-T --extended_speeds --extended-speeds", pm::PortExtendedSpeedsCounters::info, "PortExtendedSpeedsCounters",
     "Show errors and corrections by lane, of links at 14 Gb/s a lane and above."},
    {"--oprcvcounters", pm::PortOpRcvCounters::info, "PortOpRcvCounters", "Show what was received, by operation code."},
    {{"-F --flow --flowctlcounters", "--flowctlcounters"},
     pm::PortFlowCtlCounters::info,
     "PortFlowCtlCounters",
     "Show flow control packets."},
    {"--vloppackets", pm::PortVLOpPackets::info, "PortVLOpPackets", "Show packets received, by operation code and VL."},
    {"--vlopdata", pm::PortVLOpData::info, "PortVLOpData", "Show data received, by operation code and VL."},
    {{"--vl-xmit-errs --vlxmitflowctlerrors", "--vlxmitflowctlerrors"},
     pm::PortVLXmitFlowCtlUpdateErrors::info,
     "PortVLXmitFlowCtlUpdateErrors",
     "Show flow control updates that failed, by VL."},
    {{"--vl-xmit-wait --vlxmitcounters", "--vlxmitcounters"},
     pm::PortVLXmitWaitCounters::info,
     "PortVLXmitWaitCounters",
     "Show for how many ticks data had to wait, by VL."},
    {{"--vl-congestion --swportvlcong", "--swportvlcong"},
     pm::SwPortVLCongestion::info,
     "SwPortVLCongestion",
     "Show discards by congestion at a switch port, by VL."},
    {"--rcvcc", pm::PortRcvConCtrl::info, "PortRcvConCtrl", "Show congestion notices received."},
    {"--slrcvfecn", pm::PortSLRcvFecn::info, "PortSLRcvFECN", "Show FECNs received, by SL."},
    {"--slrcvbecn", pm::PortSLRcvBecn::info, "PortSLRcvBECN", "Show BECNs received, by SL."},
    {"--xmitcc", pm::PortXmitConCtrl::info, "PortXmitConCtrl", "Show for how long congestion kept data back."},
    {"--vlxmittimecc", pm::PortVLXmitTimeCong::info, "PortVLXmitTimeCong", "Show for how long congestion kept data back, by VL."},
    {"-c --smplctl", pm::PortSamplesCtl::info, "PortSamplesControl", "Show how sampling is set up."},
};

}  // namespace

bool CounterSet::is_extended() const { return &info() == &pm::PortCountersExt::info(); }
bool CounterSet::is_basic() const { return &info() == &pm::PortCounters::info() || is_extended(); }
bool CounterSet::is_sampling() const { return &info() == &pm::PortSamplesCtl::info(); }

std::string CounterSet::cannot_read() const {
  if (is_basic()) return is_extended() ? "perfextquery" : "perfquery";
  if (is_sampling()) return "sampctlquery";
  return fmt::format("cannot query {}", title);
}

std::string CounterSet::cannot_reset() const {
  if (is_basic()) return is_extended() ? "perf ext reset" : "perf reset";
  return fmt::format("cannot reset {}", title);
}

std::span<const CounterSet> counter_sets() { return sets; }

}  // namespace ib::tools::perfquery
