// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/swept_transactor.hpp"

#include "iba-gen/smp.hpp"
#include "mad/request.hpp"

namespace ib::subnet {
namespace {

using Content = std::optional<std::vector<std::uint8_t>>;

template <class Array>
Content content(const Array& bytes) {
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

Content node_info(const Subnet& subnet, const PathEnd& end) {
  // Each port of a node that is not a switch has its own GUID.
  const PortIndex entry = subnet.port_of(end.node, end.entry_port);
  if (end.entry_port != 0 && (entry == none || subnet.port(entry).guid == Guid{})) return std::nullopt;
  return wire::packed_vector(subnet.node(end.node).info);
}

Content port_info(const Subnet& subnet, const PathEnd& end, std::uint32_t number) {
  const PortIndex at = subnet.port_of(end.node, number == 0 ? end.entry_port : number);
  return at != none && subnet.port(at).has_info ? content(subnet.port(at).info_bytes) : std::nullopt;
}

/// The content of the answer to `request`. Nothing if the sweep did not read it, or if it depends on an entry port that the model does not
/// have.
Content swept_answer(const Subnet& subnet, const mad::Request& request) {
  if (request.method != mad::method::get || !mad::is_smp(request.mgmt_class)) return std::nullopt;
  const PathEnd end = end_of_path(subnet, request.path);
  if (end.node == none || !end.arrival) return std::nullopt;
  Content answer = swept_content(subnet, end, request.attribute_id, request.attribute_modifier);
  if (answer) set_arrival(subnet, end, *end.arrival, request.attribute_id, *answer);
  return answer;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> swept_content(const Subnet& subnet, const PathEnd& end, std::uint16_t attribute,
                                                       std::uint32_t modifier) {
  const Node& node = subnet.node(end.node);
  if (node.is_listed && attribute != smp::NodeDescription::attribute_id) return std::nullopt;  // the others are not whole
  if (attribute == smp::NodeInfo::attribute_id) return node_info(subnet, end);
  if (attribute == smp::PortInfo::attribute_id) return port_info(subnet, end, modifier);
  if (attribute == smp::NodeDescription::attribute_id && node.has_description) return content(node.description_bytes);
  if (attribute == smp::SwitchInfo::attribute_id && node.has_switch_info) return content(node.switch_info_bytes);
  return std::nullopt;
}

mad::Task<mad::Result<mad::Reply>> SweptTransactor::try_call(const mad::Request& request) {
  if (request.method == mad::method::set) changed_ = true;
  if (swept_ && !changed_) {
    if (const Content known = swept_answer(swept_->subnet, request)) {
      mad::Reply reply;
      reply.bytes = mad::answer_to(request, 0, mad::data_area(request.mgmt_class), *known);
      co_return reply;
    }
  }
  co_return co_await below_.try_call(request);
}

}  // namespace ib::subnet
