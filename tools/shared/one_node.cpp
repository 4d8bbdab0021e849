// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/one_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/pm.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

using Counts = counters::ReadingPlan::Counts;
using Reading = mad::Result<counters::CounterRow>;

/// The capabilities of a PMA whose ClassPortInfo was not read: everything is requested.
constexpr counters::PmaSupport every_counter{0xffff, 0};

counters::PmaSupport without_extended(counters::PmaSupport support) {
  constexpr unsigned extended = pm::capability_mask::is_extended_width_supported | pm::capability_mask::is_extended_width_no_ietf_supported;
  support.capability_mask = static_cast<std::uint16_t>(support.capability_mask & ~extended);
  return support;
}

/// The path to the PMA, from the SA.
async::Task<path::Path> pma_of(Stack& stack, const subnet::Subnet& subnet, subnet::PortIndex end) {
  path::IbPath to;
  to.dlid = subnet.lid(end);
  if (!to.dlid.is_unicast())
    to.dgid = Gid::from(stack.host().end_port().default_gid().prefix(), subnet.node(subnet.port(end).node).info.port_guid);
  const path::Path wanted = to;
  co_return co_await stack.gmp_path(&wanted);
}

async::Task<Reading> read_select(mad::Transactor& transactor, path::Path pma, std::uint8_t select, counters::PmaSupport support,
                                 Counts counts) {
  counters::ReadingPlan plan;
  plan.counts = counts;
  counters::PmaReading reading = co_await counters::read_pma(transactor, pma, select, support, plan);
  // Without ClassPortInfo it is not known whether the PMA has PortCountersExtended.
  const bool is_refused =
      counts == Counts::traffic && support.extended() && !reading.known() && !mad::is_timeout(*reading.problems.back().error);
  if (is_refused) reading = co_await counters::read_pma(transactor, pma, select, without_extended(support), plan);
  if (!reading.known()) co_return reading.problems.back().error;
  co_return reading.row;
}

}  // namespace

void CountedPort::options(OptionSet& set) {
  set.instead_of_operands("-s");
  set.target_each("TARGET", target);
  set.optional_operands();
  set.integer("PORT", port, {0, subnet::all_ports});
  set.is_port();
  set.notes("Without PORT, and with PORT 255, all ports of a switch are meant, and of a host the port of TARGET.");
  set.flag("-s --show_thresholds --show-thresholds", shows_thresholds, "Print the thresholds of errors and nothing else.");
  set.text("-T --thresholds", thresholds_file, "FILE", "Read thresholds, and all of them, from FILE.");
  set.flag("-N --nocolor", plain, "Print no colours; without it a terminal gets them.");
  for (const char* other : {"--columns", "--sort", "--top"}) set.one_of({"-s", other});
}

ThresholdReport::ThresholdReport(const counters::ErrorThresholds& of) : thresholds(of.all()) {
  std::ranges::sort(thresholds, {}, [](const auto& threshold) { return threshold.counter->narrow->iba_name.view(); });
}

void ThresholdReport::visit(report::Sink& sink) const {
  sink.objects("thresholds", thresholds, [&](const auto& threshold) {
    sink.value("counter", threshold.counter->name);
    sink.value("threshold", threshold.value);
  });
}

void ThresholdReport::text(TextOut& out) const {
  for (const auto& threshold : thresholds) out.print("{}={}\n", threshold.counter->narrow->iba_name, threshold.value);
}

async::Task<subnet::NodeIndex> add_node(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet) {
  const auto info = co_await transactor.subn_get<smp::NodeInfo>(path);
  co_return subnet.add_node(info);
}

async::Task<> add_port(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet, subnet::PortIndex port) {
  const auto info = co_await transactor.subn_get<smp::PortInfo>(path, subnet.port(port).number);
  subnet.set_port_info(port, wire::packed(info));
}

async::Task<OnePort> find_one_port(Stack& stack, const Destination& node, Fabric& fabric, std::optional<unsigned> port) {
  const subnet::NodeIndex at = co_await add_node(stack.transactor(), node.path, fabric.subnet);
  const smp::NodeInfo info = fabric.subnet.node(at).info;
  const bool is_switch = info.node_type == smp::NodeType::switch_;
  const unsigned number = port.value_or(subnet::all_ports);
  OnePort one;
  one.end = fabric.subnet.port_of(at, is_switch ? 0 : info.local_port_num);
  one.all_ports = is_switch && number == subnet::all_ports;
  const bool is_end = number == subnet::all_ports || (number == 0 && !is_switch);
  one.port = is_end ? one.end : fabric.subnet.port_of(at, number);
  if (one.end == subnet::none || one.port == subnet::none) {
    const std::string whom = co_await named_node(stack, node.path);
    throw Error(no_such_port_text(whom, info, is_end ? info.local_port_num : number));
  }
  fabric.subnet.set_port_guid(one.end, info.port_guid);
  co_return one;
}

async::Task<> describe(Stack& stack, const Destination& node, Fabric& fabric, const OnePort& of) {
  mad::Transactor& transactor = stack.transactor();
  co_await add_port(transactor, node.path, fabric.subnet, of.end);
  const auto description = co_await transactor.subn_get<smp::NodeDescription>(node.path);
  subnet::Node& kept = fabric.subnet.node(fabric.subnet.port(of.end).node);
  std::ranges::copy(wire::packed(description), kept.description_bytes.begin());
  kept.has_description = true;
  fabric.names = stack.manners().node_name_map();
}

async::Task<Reading> read_counters(Stack& stack, const Fabric& fabric, OnePort of, Counts counts) {
  const subnet::Subnet& subnet = fabric.subnet;
  const path::Path pma = co_await pma_of(stack, subnet, of.end);
  mad::Transactor& transactor = stack.transactor();
  counters::PmaSupport support = every_counter;
  if (of.all_ports || counts == Counts::all) {
    const mad::Result<counters::PmaSupport> answer = co_await counters::read_pma_support(transactor, pma);
    if (!answer) co_return answer.shared_error();
    support = *answer;
  }
  if (counts == Counts::errors) support = without_extended(support);
  const std::uint8_t number = subnet.port(of.port).number;
  if (!of.all_ports) co_return co_await read_select(transactor, pma, number, support, counts);
  if (support.all_port_select()) co_return co_await read_select(transactor, pma, subnet::all_ports, support, counts);
  counters::CounterRow sum;
  const unsigned ports = subnet.node(subnet.port(of.end).node).info.num_ports;
  for (unsigned port = 1; port <= ports; ++port) {
    const Reading reading = co_await read_select(transactor, pma, static_cast<std::uint8_t>(port), support, counts);
    if (!reading) co_return reading.shared_error();
    sum.add(*reading);
  }
  co_return sum;
}

}  // namespace ib::tools
