// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/recording.hpp"

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::snapshot {

Recording::Recording(mad::Transactor& below, const subnet::Subnet& subnet, Writer& writer)
    : Transactor(below.end_port()), below_(below), subnet_(subnet), writer_(writer) {
  sa_path() = below.sa_path();
}

mad::Task<mad::Result<mad::Reply>> Recording::try_call(const mad::Request& request) {
  mad::Result<mad::Reply> result = co_await below_.try_call(request);
  store(writer_, subnet_, request, result);
  co_return result;
}

namespace {

/// Whether a switch that was requested by its LID for its NodeInfo is another one than the one of the model: the LID has changed hands.
bool is_of_other_node(const subnet::Subnet& subnet, const AnswerKey& key, const mad::Reply& reply) {
  const bool is_by_lid = mad::is_smp(key.mgmt_class) && key.attribute == smp::NodeInfo::attribute_id && key.selector == by_lid;
  return is_by_lid && smp::NodeInfo::unpack(reply.payload()).node_guid != subnet.node(key.node).guid();
}

/// Why the answer to a request for a register is not one to it, or null. The modifier names the register, and is not stored with an answer.
std::shared_ptr<const mad::MadError> as_of_other_register(const mad::Request& request, const mad::Reply& reply) {
  const bool is_register =
      request.mgmt_class == mlx::AccessRegister::mgmt_class && request.attribute_id == mlx::AccessRegister::attribute_id;
  if (!is_register || reply.header().attribute_modifier() == request.attribute_modifier) return nullptr;
  return std::make_shared<const subnet::FalseAnswer>("The answer is of another register or index.", mad::to_mad(request), reply.bytes,
                                                     request.path);
}

}  // namespace

bool was_answered(const mad::Result<mad::Reply>& result) { return result || result.error().status() != 0; }

void store(Writer& writer, const subnet::Subnet& subnet, const mad::Request& request, const mad::Result<mad::Reply>& result) {
  if (request.method != mad::method::get || request.mgmt_class == mad::mgmt_class::sa) return;
  const subnet::PathEnd place = subnet::end_of_path(subnet, request.path);
  if (place.node == subnet::none) return;
  const AnswerKey key = key_of(subnet, place, request);
  if (result && is_of_other_node(subnet, key, *result)) return;
  if (result) {
    if (const auto error = as_of_other_register(request, *result)) return writer.put_failure(key, *error);
    const mad::DataArea area = stored_area(request.mgmt_class);
    return writer.put_answer(key, Bytes(result->bytes).subspan(area.offset, area.size));
  }
  // A request with 0 tries was not sent: the failure that made the node silent is stored already.
  if (mad::unanswered_tries(result.error()) != 0U) writer.put_failure(key, result.error());
}

}  // namespace ib::snapshot
