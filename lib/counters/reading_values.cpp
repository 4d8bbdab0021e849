// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which ports have counters, in which layout, whether all of a node were read, and one request for them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "counters/attributes.hpp"
#include "counters/owner.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::counters {
namespace {

/// The error for an answer that is about another port than `select`.
std::shared_ptr<const mad::MadError> wrong_port(const path::Path& pma, const StructInfo& attribute, std::uint8_t select, Bytes answer) {
  const std::array<std::uint8_t, 2> port_select{0, select};
  const std::vector<std::uint8_t> sent = mad::to_mad(mad::attribute_request(pma, attribute, mad::method::get, 0, port_select));
  return std::make_shared<subnet::FalseAnswer>(fmt::format("its PMA was queried for port {} and answered for port {}", select, answer[1]),
                                               sent, Bytes{}, pma);
}

}  // namespace

const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode) {
  const bool has_blocks = (support.capability_mask & pm::capability_mask::rs_fec_counters_supported) != 0;
  return has_blocks ? &extended_speeds_layout(mode) : nullptr;
}

std::vector<subnet::PortIndex> countable_ports(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  const bool has_port0 = node.kind() == subnet::NodeKind::sw && node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  std::vector<subnet::PortIndex> ports;
  ports.reserve(node.slots);
  for (unsigned number = has_port0 ? 0 : 1; number < node.slots; ++number) {
    if (subnet.port(node.first_port + number).is_known()) ports.push_back(node.first_port + number);
  }
  return ports;
}

bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node) {
  if (node.ports.empty()) return node.all && node.all->known();
  const subnet::Node& of = subnet.node(node.node);
  if (of.kind() == subnet::NodeKind::sw && !of.has_switch_info) return false;  // whether port 0 counts is not known
  const auto external = std::ranges::count_if(node.ports, [](const PmaReading& reading) { return reading.select != 0; });
  return external >= of.info.num_ports && std::ranges::all_of(node.ports, &PmaReading::known);
}

async::Task<mad::Result<mad::Reply>> request_counters(mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute,
                                                      std::uint8_t select, bool takes_any_select) {
  const std::array<std::uint8_t, 2> port_select{0, select};  // byte 1 of all attributes of a port
  const mad::Request request = mad::attribute_request(pma, attribute, mad::method::get, 0, port_select);
  mad::Result<mad::Reply> answer = co_await transactor.try_call(request);
  if (answer && !takes_any_select && answer->payload()[1] != select) co_return wrong_port(pma, attribute, select, answer->payload());
  co_return answer;
}

std::shared_ptr<const Error> why_not(const PmaProblem& problem) {
  if (!problem.error) return std::make_shared<Error>("GMPs do not reach it.");
  return problem.whose ? std::make_shared<Error>(why_not_read(*problem.error)) : std::shared_ptr<const Error>(problem.error);
}

}  // namespace ib::counters
