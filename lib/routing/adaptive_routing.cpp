// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/adaptive_routing.hpp"

#include <algorithm>
#include <iterator>

#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "subnet/sweep/mlnx_vendor.hpp"

namespace ib::routing {

AdaptiveRouting unread_adaptive_routing(const Network& network) {
  AdaptiveRouting found;
  std::ranges::transform(network.switches(), std::back_inserter(found), [&network](const Switch& at) {
    return subnet::is_mellanox(network.subnet().node(at.node).info) ? Adaptive::not_read : Adaptive::off;
  });
  return found;
}

async::Task<Adaptive> read_adaptive(mad::Transactor& transactor, const path::Path& path) {
  mad::Request request = mad::attribute_request(path, mlx::AdaptiveRoutingInfo::info(), mad::method::get);
  request.optional = true;
  const mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  const std::uint16_t status = reply ? 0 : reply.error().status();
  if (!reply) co_return status == 0 || status == mad::status::busy ? Adaptive::not_read : Adaptive::off;
  co_return mlx::AdaptiveRoutingInfo::unpack(reply->payload()).enabled != 0 ? Adaptive::on : Adaptive::off;
}

}  // namespace ib::routing
