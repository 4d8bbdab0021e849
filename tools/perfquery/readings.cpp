// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/readings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "report/structure.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::perfquery {
namespace {

constexpr CounterSet sets[]{
    {{}, pm::PortCounters::info, ""},
    {"-x --extended", pm::PortCountersExt::info, "Show PortCountersExtended: 64 bits each."},
    {"-X --xmtsl", pm::PortXmitDataSL::info, "Show the data that was sent, by SL."},
    {"-S --rcvsl", pm::PortRcvDataSL::info, "Show the data that was received, by SL."},
    {"-D --xmtdisc", pm::PortXmitDiscardDetails::info, "Show why packets were discarded before they were sent."},
    {"-E --rcverr", pm::PortRcvErrorDetails::info, "Show details of receive errors."},
    {"-T --extended_speeds --extended-speeds", pm::PortExtendedSpeedsCounters::info,
     "Show errors and corrections by lane, of links at 14 Gb/s a lane and above."},
    {"--oprcvcounters", pm::PortOpRcvCounters::info, "Show what was received, by operation code."},
    {{"-F --flow --flowctlcounters", "--flowctlcounters"}, pm::PortFlowCtlCounters::info, "Show flow control packets."},
    {"--vloppackets", pm::PortVLOpPackets::info, "Show packets received, by operation code and VL."},
    {"--vlopdata", pm::PortVLOpData::info, "Show data received, by operation code and VL."},
    {{"--vl-xmit-errs --vlxmitflowctlerrors", "--vlxmitflowctlerrors"},
     pm::PortVLXmitFlowCtlUpdateErrors::info,
     "Show flow control updates that failed, by VL."},
    {{"--vl-xmit-wait --vlxmitcounters", "--vlxmitcounters"},
     pm::PortVLXmitWaitCounters::info,
     "Show for how many ticks data had to wait, by VL."},
    {{"--vl-congestion --swportvlcong", "--swportvlcong"},
     pm::SwPortVLCongestion::info,
     "Show discards by congestion at a switch port, by VL."},
    {"--rcvcc", pm::PortRcvConCtrl::info, "Show congestion notices received."},
    {"--slrcvfecn", pm::PortSLRcvFecn::info, "Show FECNs received, by SL."},
    {"--slrcvbecn", pm::PortSLRcvBecn::info, "Show BECNs received, by SL."},
    {"--xmitcc", pm::PortXmitConCtrl::info, "Show for how long congestion kept data back."},
    {"--vlxmittimecc", pm::PortVLXmitTimeCong::info, "Show for how long congestion kept data back, by VL."},
    {"-c --smplctl", pm::PortSamplesCtl::info, "Show how sampling is set up."},
};

constexpr std::size_t most_ports = 256;

std::uint8_t port_number(std::string_view text) { return parse_within<std::uint8_t>(text, "PORT", {0, 255}); }

constexpr DottedOptions perfquery_listing{.names = NameStyle::perfquery, .colon = true, .element_lines = true};

}  // namespace

bool CounterSet::is_extended() const { return &info() == &pm::PortCountersExt::info(); }
bool CounterSet::is_basic() const { return &info() == &pm::PortCounters::info() || is_extended(); }
bool CounterSet::is_sampling() const { return &info() == &pm::PortSamplesCtl::info(); }

std::string CounterSet::cannot_read() const {
  if (is_basic()) return is_extended() ? "perfextquery" : "perfquery";
  if (is_sampling()) return "sampctlquery";
  return fmt::format("cannot query {}", info().title);
}

std::string CounterSet::cannot_reset() const {
  if (is_basic()) return is_extended() ? "perf ext reset" : "perf reset";
  return fmt::format("cannot reset {}", info().title);
}

std::span<const CounterSet> counter_sets() { return sets; }

PortNumbers parse_ports(std::string_view text) {
  PortNumbers ports;
  for (const std::string_view part : split(text)) {
    const std::size_t dash = part.find('-', 1);
    const int first = port_number(part.substr(0, dash));
    const int last = dash < part.size() ? port_number(part.substr(dash + 1)) : first;
    if (last < first) throw UsageError(fmt::format("the range {} goes down", in_quotes(part)));
    for (int port = first; port <= last; ++port) ports.push_back(port);
    if (ports.size() > most_ports) throw UsageError(fmt::format("these are more than {} ports", most_ports));
  }
  return ports;
}

PortNumbers parse_diags_ports(const std::string& text) {
  PortNumbers ports;
  if (text.find(',') != std::string::npos) {
    for (const std::string_view part : split(text)) {
      // strtok's habit: between two commas there is no number.
      if (!part.empty() && ports.size() < most_ports) ports.push_back(static_cast<std::int32_t>(c_number(std::string(part))));
    }
    return ports;
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return {static_cast<std::int32_t>(c_number(text))};
  const auto first = static_cast<std::int32_t>(c_number(text.substr(0, dash)));
  const auto last = static_cast<std::int32_t>(c_number(text.substr(dash + 1)));
  if (first >= last) throw DiagsFailure("max port must be greater than min port in range");
  for (std::int32_t port = first; port <= last && ports.size() < most_ports; ++port) ports.push_back(port);
  return ports;
}

void CountersReport::visit(report::Sink& sink) const {
  path::visit(sink, "path", node.path);
  sink.objects("ports", ports, [&](const counters::PortReading& at) {
    sink.value("port_num", at.port);
    report::visit_attribute(sink, at.bytes, info, options.keys);
  });
}

void CountersReport::text(TextOut& out) const {
  for (const counters::PortReading& at : ports) {
    out.print("# Port counters: {} port {}\n", place(), at.port);
    AttributeText(options, info, at.bytes).text(out, perfquery_listing);
  }
}

void CountersReport::diags_text(TextOut& out) const {
  for (const counters::PortReading& at : ports) {
    out.print("# {}: {} port {}{}\n", title(), node.name, at.port, capabilities());
    out.write(set.is_extended() ? libibmad_listing(at.bytes, info, extended_fields()) : libibmad_listing(at.bytes, info));
  }
}

std::string CountersReport::place() const {
  return fmt::format("Lid {}{}", node.path.ib().dlid.value, gid ? fmt::format(" ({})", to_text(*gid)) : "");
}

/// The counters of PortCountersExtended that the PMA supports. CounterSelect2 heads the additional part, as infiniband-diags has it.
std::vector<std::string_view> CountersReport::extended_fields() const {
  constexpr std::uint32_t additional = pm::capability_mask2::is_additional_port_counters_extended_supported;
  const bool has_additional = (support.capability_mask2 & additional) != 0;
  const bool has_ietf = (support.capability_mask & pm::capability_mask::is_extended_width_supported) != 0;
  const auto infos = counters::counter_infos();
  std::vector<std::string_view> names, of_additional{"counter_select2"};
  for (const FieldInfo& field : info.fields) {
    if (field.reserved || field.name == "counter_select2") continue;
    const auto counter = std::ranges::find(infos, field.name, &counters::CounterInfo::name);
    const bool is_counter = counter != infos.end();
    if (is_counter && counter->ietf && !has_ietf) continue;
    (is_counter && counter->additional ? of_additional : names).push_back(field.name);
  }
  if (has_additional) names.insert(names.end(), of_additional.begin(), of_additional.end());
  return names;
}

std::string CountersReport::title() const {
  if (set.is_extended()) return "Port extended counters";
  if (set.is_basic()) return "Port counters";
  if (set.is_sampling()) return "PortSamplesControl";
  const bool rs_fec = &info == &pm::PortExtendedSpeedsCountersRsFec::info();
  return fmt::format("{}{} counters", set.info().title, rs_fec ? " with RS-FEC Active" : "");
}

std::string CountersReport::capabilities() const {
  if (!set.is_basic()) return "";
  const std::string second = set.is_extended() ? fmt::format(" CapMask2: 0x{:07X}", support.capability_mask2) : "";
  return fmt::format(" (CapMask: 0x{:02X}{})", support.capability_mask, second);
}

/// Calls `use` with the field of each counter that is shown, its index, and what it has counted.
template <class Use>
void WatchReport::each_counter(const WatchedPort& port, Use use) const {
  counters::each_counter(of.info, [&](const FieldInfo& field, std::uint32_t index) {
    const counters::CounterChange change = counters::change_of(port.before, port.now, field, index);
    if (is_shown(field, change)) use(field, field.count > 1 ? std::optional(index) : std::nullopt, change);
  });
}

bool WatchReport::is_shown(const FieldInfo& field, const counters::CounterChange& change) const {
  if (thresholds == nullptr) return dialects_of(field).was.empty() || change.now != 0;  // counters that few PMAs have, if they are not zero
  const std::optional<std::uint64_t> least = thresholds->find(field.name);
  return least && change.per_second && *change.per_second > 0 && *change.per_second >= static_cast<double>(*least);
}

void WatchReport::text(TextOut& out) const {
  constexpr std::size_t column = 33;
  for (const WatchedPort& port : ports) {
    out.print("# Port counters: {} port {}\n", of.place(), port.now.port);
    each_counter(port, [&](const FieldInfo& field, std::optional<std::uint32_t> index, const counters::CounterChange& change) {
      std::string name = styled_name(field, NameStyle::iba);
      if (index) name += fmt::format("[{}]", *index);
      out.write(growth_line(fmt::format("{:.<{}}", name, column), change));
    });
  }
}

void WatchReport::visit(report::Sink& sink) const {
  begin_round(sink, round);
  sink.value("attribute", of.info.iba_name);
  sink.objects("ports", ports, [&](const WatchedPort& port) {
    sink.value("port_num", port.now.port);
    sink.value("seconds", counters::seconds_between(port.before, port.now));
    sink.begin_array("counters");
    each_counter(port, [&](const FieldInfo&, std::optional<std::uint32_t> index, const counters::CounterChange& change) {
      visit_growth(sink, change, {.has_index = true, .index = index});
    });
    sink.end_array();
  });
  sink.end_object();
}

}  // namespace ib::tools::perfquery
