// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Clears of counters, and the owner of a LID, which says whose counters they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::counters {
Owner owner_of(const subnet::Subnet& subnet, PortIndex port) {
  const subnet::Port& end = subnet.port(subnet.end_port_of(port));
  return {subnet.node(end.node).guid(), end.number};
}

Owner owner_of(const smp::NodeInfo& info) {
  return {info.node_guid, info.node_type == smp::NodeType::switch_ ? std::uint8_t{0} : info.local_port_num};
}

async::Task<std::shared_ptr<const mad::MadError>> check_owner(mad::Transactor& smps, path::Path pma, Owner owner) {
  const path::Path path = subnet::smp_path_of(pma);
  mad::Request request = mad::attribute_request(path, smp::NodeInfo::info(), mad::method::get);
  request.reason = "whose counters were read";
  const mad::Result<mad::Reply> reply = co_await smps.try_call(request);
  if (!reply) co_return reply.shared_error();
  const Owner found = owner_of(smp::NodeInfo::unpack(reply->payload()));
  if (found == owner) co_return nullptr;
  const std::string who = found.node == owner.node ? fmt::format("port {} of the node", found.port) : to_text(found.node);
  const std::string text = fmt::format("LID {} belongs to {} now", path.ib().dlid.value, who);
  const std::vector<std::uint8_t> sent = mad::to_mad(request);
  co_return std::make_shared<subnet::WrongNode>(text, sent, reply->bytes, path);
}

bool is_of_identity(const mad::MadError* error) {
  if (error == nullptr || error->request().size() < mad::header_size) return false;
  const mad::HeaderView request(error->request());
  return mad::is_smp(request.mgmt_class()) && request.attribute_id() == smp::NodeInfo::attribute_id;
}

void say_not_read(subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  failure.kind = subnet::Failure::Kind::not_read;
  if (error != nullptr) failure.why = why_not_read(*error) + ": its counters are not read";
}

std::string why_not_read(const mad::MadError& error) {
  if (dynamic_cast<const subnet::WrongNode*>(&error) != nullptr) return error.message();
  return fmt::format("the node at LID {} does not identify itself", error.path().ib().dlid.value);
}

namespace {

constexpr unsigned counter_select_bits = 16;
// The reset masks of all counters of PortXmitDiscardDetails and PortRcvErrorDetails (IBA 16.1.4.2, 16.1.4.1).
constexpr std::uint64_t all_discard_details = 0xf, all_error_details = 0x3f;

void put(MutableBytes bytes, const StructInfo& attribute, std::string_view name, std::uint64_t value) {
  const FieldInfo* const field = find_field(attribute, name);
  if (field != nullptr) wire::set_bits(bytes, field->bit_offset, field->bits, value);
}

std::uint16_t id_of(const StructInfo& attribute) { return static_cast<std::uint16_t>(attribute.attribute_id); }

/// Whether the counters of `attribute` were read. PortCountersExtended with its additional part contains all counters of PortCounters.
bool was_read(const PmaReading& reading, const StructInfo& attribute) {
  if (&attribute == &pm::PortCounters::info()) return reading.has_basic() || (reading.has_extended() && reading.support.additional());
  if (&attribute == &pm::PortCountersExt::info()) return reading.has_extended();
  const bool is_discards = &attribute == &pm::PortXmitDiscardDetails::info();
  return reading.row.is_known(column_of(is_discards ? "port_inactive_discards" : "port_local_physical_errors"));
}

}  // namespace

async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask) {
  std::vector<std::uint8_t> bytes(attribute.bytes);
  put(bytes, attribute, "port_select", number);
  put(bytes, attribute, "counter_select", mask);
  put(bytes, attribute, "counter_select2", mask >> counter_select_bits);
  co_return co_await transactor.try_set(pma, attribute, 0, bytes);
}

CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice) {
  CounterClear clear;
  for (const CounterInfo& info : counter_infos()) {
    if (!choice(info)) continue;
    if (support.narrow(info)) clear.port_counters |= info.narrow_reset;
    if (support.wide(info)) clear.port_counters_extended |= info.wide_reset;
  }
  return clear;
}

async::Task<std::vector<PmaProblem>> clear_counters(subnet::SurveyPort port, std::uint8_t select, PmaSupport support,
                                                    const ReadingPlan& plan, std::span<const PmaReading> read) {
  std::vector<PmaProblem> problems;
  const CounterClear masks = clear_of(support, plan.clear);
  const bool is_unread = plan.counts == ReadingPlan::Counts::none;
  struct AttributeClear {
    const StructInfo& attribute;
    std::uint64_t mask;
    bool is_mandatory;  // PMAs need not have details
  };
  const std::array parts{AttributeClear{pm::PortCounters::info(), masks.port_counters, true},
                         AttributeClear{pm::PortXmitDiscardDetails::info(), plan.clear_details ? all_discard_details : 0, false},
                         AttributeClear{pm::PortRcvErrorDetails::info(), plan.clear_details ? all_error_details : 0, false},
                         AttributeClear{pm::PortCountersExt::info(), masks.port_counters_extended, true}};
  for (const AttributeClear& part : parts) {
    if (part.mask == 0) continue;
    if (!is_unread && !std::ranges::all_of(read, [&](const PmaReading& reading) { return was_read(reading, part.attribute); })) {
      const auto value = co_await request_counters(port.transactor, port.path, part.attribute, select, plan.takes_any_select);
      if (!value && part.is_mandatory) problems.push_back({id_of(part.attribute), true, value.shared_error()});
      if (!value) continue;
    }
    const auto done = co_await reset_counters(port.transactor, port.path, part.attribute, select, part.mask);
    if (!done && part.is_mandatory) problems.push_back({id_of(part.attribute), true, done.shared_error()});
    if (!problems.empty() && is_of_identity(problems.back().error.get())) break;
  }
  co_return problems;
}

async::Task<ClearedEndPorts> clear_end_ports(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ends,
                                             CounterChoice choice, subnet::SurveyOptions options) {
  std::vector<NodeIndex> nodes;
  std::map<NodeIndex, std::vector<PortIndex>> ports;
  for (const PortIndex end : ends) {
    const NodeIndex at = subnet.port(end).node;
    const subnet::Node& node = subnet.node(at);
    if (!ports.contains(at)) nodes.push_back(at);
    for (unsigned number = 1; node.kind() == subnet::NodeKind::sw && number < node.slots; ++number)
      ports[at].push_back(node.first_port + number);
    const std::vector<PortIndex> countable = countable_ports(subnet, at);
    const bool is_enhanced_port0 = !countable.empty() && countable.front() == end;
    if (node.kind() != subnet::NodeKind::sw || is_enhanced_port0) ports[at].push_back(end);
  }
  ReadingPlan plan;
  plan.counts = ReadingPlan::Counts::none;
  plan.ports = ReadingPlan::Ports::each;
  plan.ports_of = [&ports](NodeIndex node) { return ports.at(node); };
  plan.clear = std::move(choice);
  PmaReadings cleared = co_await read_pmas(transactor, subnet, std::move(nodes), std::move(plan), std::move(options));
  ClearedEndPorts result{.reasons = {}, .failures = std::move(cleared.failures)};
  const auto note = [&](PortIndex port, const std::vector<PmaProblem>& problems) {
    if (!problems.empty()) result.reasons.try_emplace(subnet.end_port_of(port), why_not(problems.front()));
  };
  for (const PmaNode& node : cleared.nodes) {
    note(node.first, node.clear_problems);
    for (const PmaReading& reading : node.ports) note(reading.port, reading.problems);
  }
  co_return result;
}

}  // namespace ib::counters
