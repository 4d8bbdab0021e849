// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/one_node.hpp"

#include <algorithm>

#include "iba/wire.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

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
  fabric.subnet.node_of(of.end).set_description(wire::packed(description));
  fabric.names = stack.manners().node_name_map();
}

async::Task<mad::Result<counters::CounterRow>> read_counters(Stack& stack, const Fabric& fabric, OnePort of,
                                                             counters::ReadingPlan::Counts counts) {
  const subnet::Subnet& subnet = fabric.subnet;
  const smp::NodeInfo node = subnet.node_of(of.end).info;
  path::IbPath to;  // the SA gives the rest
  to.dlid = subnet.lid(of.end);
  if (!to.dlid.is_unicast()) to.dgid = Gid::from(stack.host().end_port().default_gid().prefix(), node.port_guid);
  const path::Path wanted = to;
  const path::Path pma = co_await stack.gmp_path(&wanted);
  const std::uint8_t select = of.all_ports ? subnet::all_ports : subnet.port(of.port).number;
  co_return co_await counters::read_row(stack.transactor(), pma, select, node.num_ports, counts);
}

}  // namespace ib::tools
