// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is requested of one PMA without a survey: an attribute of several ports, or the row of a port; clears; and the owner of its LID,
// which says whose the counters are.
#include <fmt/format.h>

#include <array>

#include "async/group.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t ports_at_once = 64;

async::Task<> read_port(mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute, PortReading& reading) {
  const mad::Result<mad::Reply> answer =
      co_await request_counters(transactor, pma, attribute, static_cast<std::uint8_t>(reading.port), true);
  const async::Loop& loop = co_await async::current_loop;
  reading.time = loop.now();
  if (answer) {
    reading.bytes.assign(answer->payload().begin(), answer->payload().end());
  } else {
    reading.error = answer.shared_error();
  }
  reading.bytes.resize(attribute.bytes);
}

using Counts = ReadingPlan::Counts;

/// The capabilities of a PMA whose ClassPortInfo was not read: everything is requested.
constexpr PmaSupport every_counter{0xffff, 0};

PmaSupport without_extended(PmaSupport support) {
  constexpr unsigned extended = pm::capability_mask::is_extended_width_supported | pm::capability_mask::is_extended_width_no_ietf_supported;
  support.capability_mask = static_cast<std::uint16_t>(support.capability_mask & ~extended);
  return support;
}

async::Task<mad::Result<CounterRow>> read_select(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                                 Counts counts) {
  ReadingPlan plan;
  plan.counts = counts;
  PmaReading reading = co_await read_pma(transactor, pma, select, support, plan);
  // Without ClassPortInfo it is not known whether the PMA has PortCountersExtended.
  const bool is_refused =
      counts == Counts::traffic && support.extended() && !reading.known() && !mad::is_timeout(*reading.problems.back().error);
  if (is_refused) reading = co_await read_pma(transactor, pma, select, without_extended(support), plan);
  if (!reading.known()) co_return reading.problems.back().error;
  co_return reading.row;
}

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

async::Task<std::vector<PortReading>> read_ports(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                 std::vector<std::int32_t> ports) {
  std::vector<PortReading> readings;
  for (const std::int32_t port : ports) readings.push_back({port, {}});
  const auto read = [&](PortReading& reading) { return read_port(transactor, pma, attribute, reading); };
  co_await async::for_each(readings, ports_at_once, read);
  co_return readings;
}

PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& attribute) {
  std::vector<std::uint8_t> total = ports.front().bytes;
  each_counter(attribute, [&](const FieldInfo& field, std::uint32_t index) {
    const std::uint32_t at = field.bit_offset + index * field.bits;
    const std::uint64_t most = field.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.bits) - 1;
    std::uint64_t value = 0;
    for (const PortReading& port : ports) {
      const std::uint64_t one = wire::get_bits(port.bytes, at, field.bits);
      value = one > most - value ? most : value + one;
    }
    wire::set_bits(total, at, field.bits, value);
  });
  put(total, attribute, "port_select", subnet::all_ports);
  return {subnet::all_ports, std::move(total), std::ranges::max_element(ports, {}, &PortReading::time)->time};
}

std::optional<double> seconds_between(const std::optional<PortReading>& before, const PortReading& now) {
  return before ? seconds_between(before->time, now.time) : std::nullopt;
}

CounterChange change_of(const std::optional<PortReading>& before, const PortReading& now, const FieldInfo& counter, std::uint32_t index) {
  const std::uint64_t value = read_number(now.bytes, counter, index);
  CounterChange change;
  if (before) change = change_of(read_number(before->bytes, counter, index), value, counter, seconds_between(before, now), {});
  change.counter = &counter;
  change.now = value;
  return change;
}

async::Task<mad::Result<CounterRow>> read_row(mad::Transactor& transactor, path::Path pma, std::uint8_t select, unsigned num_ports,
                                              ReadingPlan::Counts counts) {
  const bool is_sum = select == subnet::all_ports;
  PmaSupport support = every_counter;
  if (is_sum || counts == Counts::all) {
    const mad::Result<PmaSupport> answer = co_await read_pma_support(transactor, pma);
    if (!answer) co_return answer.shared_error();
    support = *answer;
  }
  if (counts == Counts::errors) support = without_extended(support);
  if (!is_sum || support.all_port_select()) co_return co_await read_select(transactor, pma, select, support, counts);
  CounterRow sum;
  for (unsigned port = 1; port <= num_ports; ++port) {
    const mad::Result<CounterRow> reading = co_await read_select(transactor, pma, static_cast<std::uint8_t>(port), support, counts);
    if (!reading) co_return reading.shared_error();
    sum.add(*reading);
  }
  co_return sum;
}

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

std::string why_not_read(const mad::MadError& error) {
  if (dynamic_cast<const subnet::WrongNode*>(&error) != nullptr) return error.message();
  return fmt::format("the node at LID {} does not identify itself", error.path().ib().dlid.value);
}

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
