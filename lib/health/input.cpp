// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/input.hpp"

#include <fmt/format.h>

namespace ib::health {
namespace {

using subnet::PortIndex;
using subnet::Subnet;

PortIndex peer_in_baseline(const Input& input, PortIndex at) {
  if (input.baseline == nullptr) return subnet::none;
  const subnet::Counterparts& pairs = input.baseline->changes.pairs;
  const PortIndex before = pairs.port_then(at);
  return before == subnet::none ? subnet::none : pairs.port_now(input.baseline->subnet.port(before).peer);
}

}  // namespace

PortIndex former_peer(const Input& input, PortIndex port) {
  if (input.subnet.port(port).peer != subnet::none) return subnet::none;
  const auto known = input.former_peers.find(port);
  const PortIndex peer = known != input.former_peers.end() ? known->second : peer_in_baseline(input, port);
  return peer == subnet::none || input.subnet.port(peer).peer != subnet::none ? subnet::none : peer;
}

Lid own_sm_lid(const Subnet& subnet) { return subnet.start == subnet::none ? Lid{} : subnet.port(subnet.start).info().master_sm_lid; }

PortIndex own_sm_port(const Subnet& subnet) {
  const Lid lid = own_sm_lid(subnet);
  return lid.is_unicast() ? subnet.find_lid(lid) : subnet::none;
}

Machines machines_of(const Input& input, const Subnet& subnet) {
  static const HostNames first_words;
  return {subnet, input.host_names == nullptr ? first_words : *input.host_names};
}

void judge_managers(Input& input) {
  if (input.silent_managers == 0) return;
  const std::size_t count = input.managers.size() + input.silent_managers;
  const bool is_partial = !input.managers.empty() || !input.silent.empty();
  for (const Source source : {Source::managers, Source::activity})
    input.not_read(source, fmt::format("{} of {} subnet managers did not answer SMInfo", input.silent_managers, count), is_partial);
}

}  // namespace ib::health
