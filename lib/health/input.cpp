// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/input.hpp"

#include <algorithm>

namespace ib::health {
namespace {

using subnet::PortIndex;
using subnet::Subnet;

/// The port of `input.subnet` that a port of another model is, by GUID and number; none if it is not there.
PortIndex port_now(const Input& input, const Subnet& other, PortIndex at) {
  const subnet::Port& port = other.port(at);
  const subnet::NodeIndex node = input.subnet.find_node(other.node(port.node).guid());
  return node == subnet::none ? subnet::none : input.subnet.port_of(node, port.number);
}

PortIndex peer_in_baseline(const Input& input, PortIndex at) {
  if (input.baseline == nullptr) return subnet::none;
  const Subnet& was = input.baseline->subnet;
  const subnet::Port& port = input.subnet.port(at);
  const subnet::NodeIndex node = was.find_node(input.subnet.node(port.node).guid());
  const PortIndex before = node == subnet::none ? subnet::none : was.port_of(node, port.number);
  if (before == subnet::none || was.port(before).peer == subnet::none) return subnet::none;
  return port_now(input, was, was.port(before).peer);
}

}  // namespace

PortIndex former_peer(const Input& input, PortIndex port) {
  if (input.subnet.port(port).peer != subnet::none) return subnet::none;
  const auto known = input.former_peers.find(port);
  const PortIndex peer = known != input.former_peers.end() ? known->second : peer_in_baseline(input, port);
  return peer == subnet::none || input.subnet.port(peer).peer != subnet::none ? subnet::none : peer;
}

Lid own_sm_lid(const Subnet& subnet) { return subnet.start == subnet::none ? Lid{} : subnet.port(subnet.start).info().master_sm_lid; }

std::string host_of(const Input& input, const subnet::Node& node) {
  static const HostNames first_words;
  return (input.host_names == nullptr ? first_words : *input.host_names).host_of(node);
}

std::size_t link_count(const Subnet& subnet) {
  const auto is_linked = [](const subnet::Port& port) { return port.peer != subnet::none; };
  return (static_cast<std::size_t>(std::ranges::count_if(subnet.ports(), is_linked)) + 1) / 2;  // a looped cable has one linked port
}

}  // namespace ib::health
