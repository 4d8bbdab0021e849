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
  const SweptFabric& fabric = *view.reading->fabric;
  return (items == Items::hcas ? 0 : fabric.switches.size()) + (items == Items::switches ? 0 : fabric.hcas.size());
}

Item item_of(const View& view, Items items, std::size_t number) {
  if (items != Items::switches_and_hcas) return {items, number};
  const std::size_t switches = view.reading->fabric->switches.size();
  return number < switches ? Item{Items::switches, number} : Item{Items::hcas, number - switches};
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
