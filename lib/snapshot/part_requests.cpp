// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/part_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "iba-gen/cc.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"
#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::snapshot {

/// A port that gets requests.
struct PartRequests::Agent {
  subnet::PortIndex port;
  const subnet::Node& node;
  smp::PortInfo info;  ///< its own
  bool is_switch;
  bool is_first;                       ///< of its node
  std::uint32_t own;                   ///< the number of the port
  std::vector<std::uint32_t> numbers;  ///< of the ports in its requests: if it is not a switch its own first, then the others, finally 0

  std::uint32_t last() const { return node.info.num_ports; }
};

namespace {

using Agent = PartRequests::Agent;
using subnet::NodeKind;
using subnet::none;
using subnet::PortIndex;
using By = AttributeRequests::By;
using Values = std::vector<std::uint32_t>;

/// Appends the modifiers of the blocks that `count` entries of a table are in: first, first + step, ….
void add_blocks(AttributeRequests& to, std::size_t count, std::uint32_t first = 0, std::uint32_t step = 1) {
  std::ranges::copy(subnet::block_modifiers(*to.attribute, count, first, step), std::back_inserter(to.values));
}

AttributeRequests blocks(const StructInfo& table, std::size_t count) {
  AttributeRequests made{.attribute = &table};
  add_blocks(made, count);
  return made;
}

AttributeRequests sl_to_vl(const Agent& of) {
  AttributeRequests made{.attribute = &smp::SLToVLMappingTable::info()};
  made.unsure = (of.info.capability_mask & smp::capability_mask::is_sl_mapping_supported) == 0;
  if (!of.is_switch) {
    made.values = {of.own};
    return made;
  }
  for (const std::uint32_t out : of.numbers) {
    for (const std::uint32_t in : of.numbers) made.values.push_back(in << 8 | out);
  }
  return made;
}

/// The greatest number of entries of the P_Key table of one port that are requested.
std::size_t most_pkeys(const Agent& of) {
  return PartRequests::most_pkey_requests / of.numbers.size() * subnet::entries_per_block(smp::PKeyTable::info());
}

AttributeRequests pkeys(const Agent& of) {
  AttributeRequests made{.attribute = &smp::PKeyTable::info()};
  for (const std::uint32_t number : of.numbers)
    add_blocks(made, std::min(subnet::pkey_capacity(of.node.info, of.node.switch_info(), number), most_pkeys(of)), number << 16);
  return made;
}

std::vector<AttributeRequests> counters(Part part, const Agent& of, unsigned step, const AgentState& state) {
  if (step == 0 && !state.requested)
    return {{.attribute = &mad::ClassPortInfo::info(), .values = {0}, .mgmt_class = mad::mgmt_class::performance}};
  if (step != 1 || part == Part::details) return {};
  Values ports = of.numbers;
  if ((state.capability_mask & pm::capability_mask::all_port_select) != 0) ports.push_back(subnet::all_ports);
  return {{.attribute = &pm::PortCounters::info(), .values = ports, .by = By::port_select},
          {.attribute = &pm::PortCountersExt::info(), .values = ports, .by = By::port_select, .unsure = true}};
}

std::vector<AttributeRequests> congestion(const Agent& of, unsigned step, const AgentState& state) {
  // Some agents answer no ClassPortInfo.
  if (step == 0)
    return {{.attribute = &mad::ClassPortInfo::info(), .values = {0}, .mgmt_class = mad::mgmt_class::congestion, .unsure = true},
            {.attribute = &cc::CongestionInfo::info(), .values = {0}, .unsure = true}};
  if (!state.has_answered || step > 2) return {};
  if (step == 2) {
    AttributeRequests rest = blocks(cc::CongestionControlTable::info(), state.ccti_limit + 1U);
    rest.values.erase(rest.values.begin());  // which step 1 requested
    return {std::move(rest)};
  }
  AttributeRequests settings = blocks(cc::SwitchPortCongestionSetting::info(), of.is_switch ? of.last() + 1U : 0U);
  settings.unsure = true;
  return {{.attribute = &cc::CongestionLogSwitch::info(), .values = {0}, .unsure = true},  // adapters have another layout of the log
          {.attribute = &cc::CongestionControlTable::info(), .values = {0}, .unsure = true},
          std::move(settings)};
}

std::vector<AttributeRequests> vendor(unsigned step, const AgentState& state) {
  // IsVendorClassSupported is set for agents that do not answer, too.
  if (step == 0) return {{.attribute = &mlx::ClassPortInfo::info(), .values = {0}, .unsure = true}};
  if (!state.has_answered || step != 2 || state.device_id != subnet::infini_scale3) return {};
  Values requests(subnet::wait_requests);
  std::iota(requests.begin(), requests.end(), 0U);
  return {{.attribute = &mlx::ConfigSpaceAccess::info(), .values = std::move(requests), .by = By::config_space}};
}

}  // namespace

std::uint32_t AttributeRequests::modifier(std::uint32_t value) const {
  if (by == By::config_space) return subnet::config_space_modifier(subnet::wait_records(value));
  return by == By::modifier ? value : 0;
}

std::vector<std::uint8_t> AttributeRequests::payload(std::uint32_t value) const {
  if (by == By::port_select) return {0, static_cast<std::uint8_t>(value)};  // byte 1 in every attribute of a port (IBA 16.1.3, 16.1.4)
  if (by == By::modifier) return {};
  return wire::packed_vector(subnet::wait_request(value));
}

void AgentState::take(const AttributeRequests& of, std::uint32_t value, Bytes payload) {
  if (of.attribute == &cc::CongestionInfo::info()) has_answered = true;
  if (of.attribute == &mad::ClassPortInfo::info() || of.attribute == &mlx::ClassPortInfo::info()) {
    requested = has_answered = true;
    capability_mask = mad::ClassPortInfo::unpack(payload).capability_mask;
  } else if (of.attribute == &cc::CongestionControlTable::info() && value == 0) {
    ccti_limit = load_be<std::uint16_t>(payload.data());
  } else if (of.attribute == &mlx::GeneralInfo::info()) {
    device_id = mlx::GeneralInfo::unpack(payload).device_id;
  }
}

PartRequests::PartRequests(const subnet::Subnet& subnet, const subnet::Failures& failures)
    : subnet_(subnet), requested_infos_(subnet.ports().size()) {
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    for (unsigned number = 0; number < node.slots; ++number) {
      const PortIndex port = node.first_port + number;
      const bool is_agent = node.kind() == NodeKind::sw ? number == 0 : subnet.port(port).peer != none || port == subnet.start;
      if (!is_agent) continue;
      agents_.push_back(port);
      first_agents_.try_emplace(at, port);
    }
  }
  for (const subnet::Failure& failure : failures) {
    if (failure.node == none || failure.port < 0 || failure.beyond || failure.attribute != "PortInfo") continue;
    const PortIndex port = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
    if (port != none) requested_infos_[port] = true;
  }
}

bool PartRequests::by_smp(Part part) { return part > Part::sa && part < Part::counters; }

std::vector<PortIndex> PartRequests::agents(Part part) const {
  std::vector<PortIndex> chosen;
  std::ranges::copy_if(agents_, std::back_inserter(chosen), [&](PortIndex at) {
    const subnet::Node& node = subnet_.node(subnet_.port(at).node);
    if (part == Part::lft || part == Part::mft) return node.kind() == NodeKind::sw && node.has_switch_info;
    if (part == Part::sminfo) return subnet::may_have_manager(subnet_, at);
    return part != Part::vendor || subnet::is_mellanox(node.info);
  });
  return chosen;
}

PartRequests::Agent PartRequests::agent_of(PortIndex port) const {
  const subnet::Port& at = subnet_.port(port);
  const subnet::Node& node = subnet_.node(at.node);
  const bool is_switch = node.kind() == NodeKind::sw;
  Agent agent{port, node, at.info(), is_switch, first_agents_.at(at.node) == port, at.number, {}};
  if (!is_switch) agent.numbers.push_back(at.number);
  for (std::uint32_t number = 1; number <= agent.last(); ++number) {
    if (is_switch || number != at.number) agent.numbers.push_back(number);
  }
  agent.numbers.push_back(0);
  return agent;
}

std::vector<AttributeRequests> PartRequests::of_step(Part part, PortIndex port, unsigned step, const AgentState& state) const {
  const Agent of = agent_of(port);
  std::vector<AttributeRequests> all = planned(part, of, step, state);
  const bool may_lack_agent = part == Part::congestion || part == Part::vendor;
  if (step == 1 && (state.has_answered || !may_lack_agent)) std::ranges::move(marked(part, of), std::back_inserter(all));
  return all;
}

/// The requests that depend on more than iba-defs says of an attribute. An attribute that has no request of this agent is among them too.
std::vector<AttributeRequests> PartRequests::planned(Part part, const Agent& of, unsigned step, const AgentState& state) const {
  if (part == Part::counters || part == Part::details) return counters(part, of, step, state);
  if (part == Part::congestion) return congestion(of, step, state);
  if (part == Part::vendor) return vendor(step, state);
  if (part == Part::vlarb) return vl_arbitration(of, step);
  if (step != 0) return {};
  const smp::SwitchInfo info = of.node.switch_info();
  std::vector<AttributeRequests> all;
  switch (part) {
    case Part::ports:
      return ports(of);
    case Part::lft:
      all = {{.attribute = &smp::LinearForwardingTable::info(), .values = subnet::LinearTable(info).unknown_blocks()}};
      if (subnet::is_mellanox(of.node.info)) all.push_back({.attribute = &mlx::AdaptiveRoutingInfo::info(), .values = {0}, .unsure = true});
      return all;
    case Part::mft:
      return {{.attribute = &smp::MulticastForwardingTable::info(),
               .values = subnet::MulticastTable(info, of.last()).unknown_blocks(),
               .unsure = info.multicast_fdb_cap == 0}};
    case Part::sl2vl:
      return {sl_to_vl(of)};
    case Part::pkeys:
      return {pkeys(of)};
    case Part::guids:
      return {blocks(smp::GuidInfo::info(), of.info.guid_cap)};
    case Part::sminfo:
      return {{.attribute = &smp::SMInfo::info(), .values = {0}, .unsure = !subnet::has_is_sm(of.info)}};
    default:
      return {};
  }
}

/// The requests for the attributes that iba-defs has in `part`, and that are not planned().
std::vector<AttributeRequests> PartRequests::marked(Part part, const Agent& of) const {
  std::vector<AttributeRequests> all;
  std::vector<const StructInfo*> planned_too;
  for (unsigned step = 0; step < steps; ++step) {
    for (const AttributeRequests& requested : planned(part, of, step, {.has_answered = true})) planned_too.push_back(requested.attribute);
  }
  for (const QueryInfo& query : all_queries()) {
    if (query.part != name(part) || std::ranges::find(planned_too, query.info) != planned_too.end()) continue;
    if (query.vendor && !subnet::is_mellanox(of.node.info)) continue;
    if (query.switches && !(of.is_switch && of.node.has_switch_info)) continue;
    AttributeRequests made{.attribute = query.info, .values = {query.modifier}, .unsure = true};
    if (query.access == Access::port) made.values = of.numbers;
    if (query.access == Access::port && query.mgmt_class == mad::mgmt_class::performance) {
      made.by = By::port_select;
      made.values.push_back(subnet::all_ports);
    }
    if (query.access == Access::block && !query.entries.empty()) {
      const std::vector<std::uint8_t> info = wire::packed_vector(of.node.switch_info());
      made.values.clear();
      add_blocks(made, static_cast<std::size_t>(read_number(info, *find_field(smp::SwitchInfo::info(), query.entries))));
    }
    all.push_back(std::move(made));
  }
  return all;
}

/// The requests for PortInfo of the ports of a node whose PortInfo neither the sweep nor an earlier part has read.
std::vector<AttributeRequests> PartRequests::missing_port_infos(const Agent& of) const {
  AttributeRequests made{.attribute = &smp::PortInfo::info()};
  for (const std::uint32_t number : of.numbers) {
    const PortIndex at = of.node.first_port + number;
    if (!of.is_first || (number == 0 && !of.is_switch) || number >= of.node.slots) continue;
    if (!subnet_.port(at).has_info && !requested_infos_[at] && !infos_.contains(at)) made.values.push_back(number);
  }
  return {std::move(made)};
}

void PartRequests::take_port_info(PortIndex agent, std::uint32_t number, Bytes payload) {
  infos_[subnet_.node(subnet_.port(agent).node).first_port + number] = smp::PortInfo::unpack(payload);
}

std::optional<smp::PortInfo> PartRequests::port_info(const Agent& of, std::uint32_t number) const {
  if (number == 0 && !of.is_switch) return of.info;
  const PortIndex at = of.node.first_port + number;
  if (number >= of.node.slots) return std::nullopt;
  if (subnet_.port(at).has_info) return subnet_.port(at).info();
  const auto found = infos_.find(at);
  return found == infos_.end() || !of.is_first ? std::nullopt : std::optional(found->second);
}

std::vector<AttributeRequests> PartRequests::ports(const Agent& of) const {
  std::vector<AttributeRequests> all = missing_port_infos(of);
  const bool has_mask2 = (of.info.capability_mask & smp::capability_mask::is_capability_mask2_supported) != 0;
  AttributeRequests& extended = all.emplace_back(AttributeRequests{.attribute = &smp::PortInfoExtended::info()});
  if (has_mask2 && (of.info.capability_mask2 & smp::capability_mask2::is_port_info_extended_supported) != 0) {
    extended.values = of.numbers;
    extended.values.push_back(subnet::all_ports);
  }
  all.push_back({.attribute = &smp::MlnxExtPortInfo::info(), .values = of.numbers});
  all.back().unsure = !subnet::has_mlnx_ext_port_info(of.node.info);
  return all;
}

std::vector<AttributeRequests> PartRequests::vl_arbitration(const Agent& of, unsigned step) const {
  if (step == 0) return missing_port_infos(of);
  if (step > 1) return {};
  AttributeRequests made{.attribute = &smp::VLArbitrationTable::info()};
  for (const std::uint32_t number : of.numbers) {
    const bool has_tables = !of.is_switch || number != 0 || of.node.switch_info().enhanced_port0 != 0;
    const std::optional<smp::PortInfo> info = port_info(of, number);
    if (!has_tables || !info) continue;
    // Blocks 1 and 2 are the low-priority table, 3 and 4 the high-priority one.
    constexpr std::uint32_t next = 1U << 16, most = 64;  // IBA 14.2.5.9
    add_blocks(made, std::min<std::uint32_t>(info->vl_arbitration_low_cap, most), 1 * next | number, next);
    add_blocks(made, std::min<std::uint32_t>(info->vl_arbitration_high_cap, most), 3 * next | number, next);
  }
  return {std::move(made)};
}

std::optional<std::string> PartRequests::left_out(Part part, PortIndex agent) const {
  if (part != Part::pkeys) return std::nullopt;
  const Agent of = agent_of(agent);
  const std::size_t most = most_pkeys(of);
  std::size_t claimed = 0;
  for (const std::uint32_t number : of.numbers)
    claimed = std::max(claimed, subnet::pkey_capacity(of.node.info, of.node.switch_info(), number));
  if (claimed <= most || !of.is_first) return std::nullopt;
  return fmt::format("It claims {} P_Keys for a port; of each of its ports only the first {} were requested.", claimed, most);
}

std::uint64_t PartRequests::plan(Part part, PortIndex agent, bool requested) const {
  std::uint64_t count = 0;
  AgentState all;
  all.requested = requested;
  for (unsigned step = 0; step < steps; ++step) {
    for (const AttributeRequests& of_step : of_step(part, agent, step, all)) count += of_step.values.size();
    all.has_answered = true;
    all.capability_mask = pm::capability_mask::all_port_select;
    all.device_id = subnet_.node(subnet_.port(agent).node).info.device_id;
  }
  return count;
}

}  // namespace ib::snapshot
