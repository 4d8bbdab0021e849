// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The untyped part of Transactor, and the path to the SA.
#include "mad/transactor.hpp"

#include <algorithm>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

namespace {

path::IbPath make_sa_path(const sys::EndPort& end_port) {
  path::IbPath path;
  path.end_port = &end_port;
  path.dlid = end_port.sm_lid;
  path.slid = end_port.lid;
  path.sl = static_cast<std::uint8_t>(end_port.sm_sl);
  path.use_qp(Qpn{1});
  path.packet_life_time = static_cast<std::uint8_t>(end_port.subnet_timeout);
  return path;
}

}  // namespace

Transactor::Transactor(const sys::EndPort& end_port) : end_port_(end_port), sa_path_(make_sa_path(end_port)) {}

Task<Reply> Transactor::call(const Request& request) { return taken(try_call(request)); }

Task<Result<std::vector<std::uint8_t>>> Transactor::try_untyped(std::uint8_t method, const path::Path& path, const StructInfo& info,
                                                                std::uint32_t modifier, Bytes value, Reason reason) {
  Request request = attribute_request(path, info, method, modifier, value);
  request.reason = reason;
  const Result<Reply> reply = co_await try_call(request);
  if (!reply) co_return reply.shared_error();
  Bytes payload = reply->payload();
  // The data of an SMP is followed by the paths of its route. If answers may be longer than a packet, everything is data.
  if (!has_rmpp(request.mgmt_class)) payload = payload.first(std::min(payload.size(), data_area(request.mgmt_class).size));
  co_return std::vector<std::uint8_t>(payload.begin(), payload.end());
}

Task<std::string> description_at(Transactor& transactor, path::Path path) {
  const Result<smp::NodeDescription> answer = co_await transactor.try_subn_get<smp::NodeDescription>(path);
  co_return answer ? std::string(fixed_text(answer->node_string)) : std::string();
}

}  // namespace ib::mad
