// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/counter_sets.hpp"

#include <fmt/format.h>

#include "counters/attributes.hpp"
#include "iba-gen/pm.hpp"

namespace ib::tools::perfquery {
namespace {

constexpr CounterSet sets[]{
    {{}, "PortCounters", ""},
    {"-x --extended", "PortCountersExtended", "Show PortCountersExtended: 64 bits each."},
    {"-X --xmtsl", "PortXmitDataSL", "Show the data that was sent, by SL."},
    {"-S --rcvsl", "PortRcvDataSL", "Show the data that was received, by SL."},
    {"-D --xmtdisc", "PortXmitDiscardDetails", "Show why packets to be sent were discarded."},
    {"-E --rcverr", "PortRcvErrorDetails", "Show what was wrong with packets received."},
    {"-T --extended_speeds --extended-speeds", "PortExtendedSpeedsCounters",
     "Show errors and corrections by lane, of links at 14 Gb/s a lane and above."},
    {"--oprcvcounters", "PortOpRcvCounters", "Show what was received, by operation code."},
    {{"-F --flow --flowctlcounters", "--flowctlcounters"}, "PortFlowCtlCounters", "Show flow control packets."},
    {"--vloppackets", "PortVLOpPackets", "Show packets received, by operation code and VL."},
    {"--vlopdata", "PortVLOpData", "Show data received, by operation code and VL."},
    {{"--vl-xmit-errs --vlxmitflowctlerrors", "--vlxmitflowctlerrors"},
     "PortVLXmitFlowCtlUpdateErrors",
     "Show flow control updates that failed, by VL."},
    {{"--vl-xmit-wait --vlxmitcounters", "--vlxmitcounters"}, "PortVLXmitWaitCounters", "Show for how many ticks data had to wait, by VL."},
    {{"--vl-congestion --swportvlcong", "--swportvlcong"}, "SwPortVLCongestion", "Show discards by congestion at a switch port, by VL."},
    {"--rcvcc", "PortRcvConCtrl", "Show congestion notices received."},
    {"--slrcvfecn", "PortSLRcvFECN", "Show FECNs received, by SL."},
    {"--slrcvbecn", "PortSLRcvBECN", "Show BECNs received, by SL."},
    {"--xmitcc", "PortXmitConCtrl", "Show for how long congestion kept data back."},
    {"--vlxmittimecc", "PortVLXmitTimeCong", "Show the same by VL."},
    {"-c --smplctl", "PortSamplesControl", "Show how sampling is set up."},
};

}  // namespace

const StructInfo& CounterSet::info() const { return *counters::counter_attributes()[static_cast<std::size_t>(this - sets)]; }

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
