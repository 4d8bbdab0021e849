// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/one_way.hpp"

#include "routing/linear_tables.hpp"

namespace ib::routing {
namespace {

bool owns(const Network& network, HostIndex host, Lid lid) {
  const Host& at = network.hosts()[host];
  return lid.value >= at.base.value && lid.value < at.base.value + (1U << at.lmc);
}

/// The end of a way that leaves by `out` to something that is not a switch.
OneWay end_at(const Network& network, SwitchIndex at, PlaceIndex out, Lid to) {
  const Wire& wire = network.wire(out);
  if (wire.to == Wire::To::silent) return {Fault::not_read, at, out};
  if (!wire.carries()) return {Fault::dead_port, at, out};
  const bool is_there = wire.to == Wire::To::host && owns(network, wire.index, to);
  return {is_there ? Fault::arrives : Fault::wrong_node, at, out};
}

OneWay follow_from(const Network& network, const FindOutPort& out_port, SwitchIndex at, Lid to) {
  for (std::size_t hops = 0; hops <= network.switches().size(); ++hops) {
    if (network.lid_of(at) == to) return {Fault::arrives, at, none};
    const std::optional<std::uint8_t> port = out_port(at, to);
    const EntryKind kind = entry_kind(port, network.switches()[at].slots - 1U);
    if (kind == EntryKind::not_read) return {Fault::not_read, at, none};
    if (kind == EntryKind::no_entry) return {Fault::no_entry, at, none};
    const PlaceIndex out = network.place(at, *port);
    if (kind == EntryKind::own_port) return {Fault::wrong_node, at, out};
    const Wire& wire = network.wire(out);
    if (wire.to != Wire::To::switch_port) return end_at(network, at, out, to);
    at = wire.index;
  }
  return {Fault::loop, at, none};
}

}  // namespace

OneWay follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to) {
  const subnet::NodeIndex node = from == subnet::none ? subnet::none : network.subnet().port(from).node;
  if (node == subnet::none) return {Fault::not_read, none, none};
  if (const SwitchIndex at = network.switch_of(node); at != none) return follow_from(network, out_port, at, to);
  const HostIndex host = network.host_of(from);
  if (host == none) return {Fault::not_read, none, none};
  if (owns(network, host, to)) return {Fault::arrives, none, none};
  const PlaceIndex out = network.place_of_host(host);
  const Wire& wire = network.wire(out);
  return wire.to == Wire::To::switch_port ? follow_from(network, out_port, wire.index, to) : end_at(network, none, out, to);
}

}  // namespace ib::routing
