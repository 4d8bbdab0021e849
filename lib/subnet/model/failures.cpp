// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/failures.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "sa/records.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::subnet {
namespace {

constexpr int whole_node = -1;

constexpr std::uint16_t of_node[] = {smp::NodeDescription::attribute_id,
                                     smp::NodeInfo::attribute_id,
                                     smp::SwitchInfo::attribute_id,
                                     smp::LinearForwardingTable::attribute_id,
                                     smp::RandomForwardingTable::attribute_id,
                                     smp::MulticastForwardingTable::attribute_id};
constexpr std::uint16_t with_port_in_low_byte[] = {smp::PortInfo::attribute_id, smp::SLToVLMappingTable::attribute_id,
                                                   smp::VLArbitrationTable::attribute_id, smp::MlnxExtPortInfo::attribute_id,
                                                   smp::PortInfoExtended::attribute_id};

/// The port that an SMP is about. Nothing if it names none: it is then about the end port that got it.
std::optional<int> port_of_smp(std::uint16_t attribute, std::uint32_t modifier, bool to_switch) {
  if (std::ranges::count(of_node, attribute) != 0) return whole_node;
  const std::optional<unsigned> port = port_in_modifier(attribute, modifier);
  return port && (to_switch || *port != 0) ? std::optional(static_cast<int>(*port)) : std::nullopt;
}

}  // namespace

std::optional<unsigned> port_in_modifier(std::uint16_t attribute, std::uint32_t modifier) {
  constexpr unsigned low_byte = 0xff, high_half = 16;
  if (std::ranges::count(with_port_in_low_byte, attribute) != 0) return modifier & low_byte;
  return attribute == smp::PKeyTable::attribute_id ? std::optional(modifier >> high_half) : std::nullopt;
}

std::string_view name(Failure::Kind kind) {
  constexpr std::array<std::string_view, 8> names{"no_answer",     "refused",   "false_answer", "duplicate_guid",
                                                  "duplicate_lid", "hop_limit", "no_record",    "not_read"};
  static_assert(static_cast<std::size_t>(Failure::Kind::not_read) + 1 == names.size());
  return names[static_cast<std::size_t>(kind)];
}

void sort(Failures& failures, const Subnet& subnet) {
  const auto key = [&subnet](const Failure& f) {
    if (f.node == none) return std::tuple(true, 0U, Guid{}, f.port, f.beyond, std::string_view(f.attribute), f.modifier);
    const Node& node = subnet.node(f.node);
    return std::tuple(false, unsigned{node.hops}, node.guid(), f.port, f.beyond, std::string_view(f.attribute), f.modifier);
  };
  std::ranges::stable_sort(failures, [&key](const Failure& a, const Failure& b) { return key(a) < key(b); });
}

Failure::Kind kind_of(const Error& error) {
  const auto* of_request = dynamic_cast<const mad::MadError*>(&error);
  if (of_request == nullptr || dynamic_cast<const FalseAnswer*>(&error) != nullptr) return Failure::Kind::false_answer;
  if (mad::is_timeout(*of_request)) return Failure::Kind::no_answer;
  if (sa::is_no_records(error)) return Failure::Kind::no_record;
  return dynamic_cast<const mad::NotRead*>(&error) != nullptr ? Failure::Kind::not_read : Failure::Kind::refused;
}

Failure failure_of(const std::shared_ptr<const mad::MadError>& error, NodeIndex node, int port, bool beyond, std::string attribute,
                   std::uint32_t modifier) {
  return {kind_of(*error), node, port, beyond, std::move(attribute), modifier, error->message(), error};
}

int port_in_request(const Subnet& subnet, PortIndex port, const mad::MadError& error) {
  const Port& at = subnet.port(port);
  const mad::HeaderView header(error.request());
  const bool to_switch = subnet.node(at.node).kind() == NodeKind::sw;
  if (mad::is_smp(header.mgmt_class()))
    return port_of_smp(header.attribute_id(), header.attribute_modifier(), to_switch).value_or(at.number);
  constexpr std::size_t select = 1;  // PortSelect follows a reserved octet in the counters of all attributes (IBA 16.1.3)
  const std::size_t offset = mad::data_area(header.mgmt_class()).offset + select;
  const bool counters = header.mgmt_class() == mad::mgmt_class::performance && header.attribute_id() != mad::ClassPortInfo::attribute_id;
  if (!counters || error.request().size() <= offset) return to_switch ? whole_node : at.number;
  return error.request()[offset] == all_ports ? whole_node : error.request()[offset];
}

}  // namespace ib::subnet
