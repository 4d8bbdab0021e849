// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/families.hpp"

namespace ib::metrics {

std::vector<Family> families(const Exported& exported) {
  std::vector<Family> all;
  if (exported.names == Names::treydock) {
    add_treydock_families(all, exported);
  } else {
    add_guilbaults_families(all, exported);
  }
  add_own_families(all, exported);
  return all;
}

std::size_t count(const View& view, Items items) {
  if (items == Items::exporter) return 1;
  if (!view.reading) return 0;
  if (items == Items::findings) return view.findings ? view.findings->list.size() : 0;
  const SweptFabric& fabric = *view.reading->fabric;
  switch (items) {
    case Items::hcas:
      return fabric.hcas.size();
    case Items::switches_and_hcas:
      return fabric.switches.size() + fabric.hcas.size();
    case Items::known_switches:
      return fabric.switches.size() + fabric.gone_switches.size();
    case Items::known_hcas:
      return fabric.hcas.size() + fabric.gone_hcas.size();
    default:
      return fabric.switches.size();
  }
}

namespace {

/// The item of that number of two lists, one behind the other, of which the first has `size` items.
Item one_of(Items first, std::size_t size, Items second, std::size_t number) {
  return number < size ? Item{first, number} : Item{second, number - size};
}

}  // namespace

Item item_of(const View& view, Items items, std::size_t number) {
  if (items == Items::exporter) return {items, number};
  const SweptFabric& fabric = *view.reading->fabric;
  if (items == Items::switches_and_hcas) return one_of(Items::switches, fabric.switches.size(), Items::hcas, number);
  if (items == Items::known_switches) return one_of(Items::switches, fabric.switches.size(), Items::gone_switches, number);
  if (items == Items::known_hcas) return one_of(Items::hcas, fabric.hcas.size(), Items::gone_hcas, number);
  return {items, number};
}

const GoneDevice& gone_device(const View& view, Item item) {
  const SweptFabric& fabric = *view.reading->fabric;
  return item.kind == Items::gone_switches ? fabric.gone_switches[item.at] : fabric.gone_hcas[item.at];
}

Guid guid_of(const View& view, Item item) {
  if (item.kind == Items::findings) return view.findings->list[item.at].guid;
  const bool is_gone = item.kind == Items::gone_switches || item.kind == Items::gone_hcas;
  return is_gone ? gone_device(view, item).guid : device(view, item).guid;
}

const Device& device(const View& view, Item item) {
  const SweptFabric& fabric = *view.reading->fabric;
  return item.kind == Items::switches ? fabric.switches[item.at] : fabric.hcas[item.at];
}

const DeviceReading* reading(const View& view, Item item) {
  const std::vector<DeviceReading>& all = item.kind == Items::switches ? view.reading->switches : view.reading->hcas;
  return all.empty() ? nullptr : &all[item.at];
}

subnet::PortIndex linked_peer(const View& view, subnet::PortIndex port) {
  return linked_peer(view.reading->fabric->subnet, *view.states, port);
}

Guid device_guid(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::Node& node = subnet.node(subnet.port(port).node);
  return node.kind() == subnet::NodeKind::sw ? node.info.port_guid : subnet.port_guid(port);
}

}  // namespace ib::metrics
