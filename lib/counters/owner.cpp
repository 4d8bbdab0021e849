// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/owner.hpp"

#include <fmt/format.h>

#include "iba/text.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::counters {

Owner owner_of(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::Port& end = subnet.port(subnet.end_port_of(port));
  return {subnet.node(end.node).guid(), end.number};
}

Owner owner_of(const smp::NodeInfo& info) {
  return {info.node_guid, info.node_type == smp::NodeType::switch_ ? std::uint8_t{0} : info.local_port_num};
}

async::Task<std::shared_ptr<const mad::MadError>> check_owner(mad::Transactor& smps, path::Path pma, Owner owner) {
  const path::Path path = subnet::smp_path_of(pma);
  mad::Request request = mad::attribute_request(path, smp::NodeInfo::info(), mad::method::get);
  request.reason = owner_of_counters;
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

}  // namespace ib::counters
