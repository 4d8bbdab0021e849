// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/families.hpp"

#include <limits>

namespace ib::metrics {

std::vector<Family> families(const Exported& exported) {
  std::vector<Family> all;
  if (exported.names == Names::treydock) {
    add_treydock_families(all, exported);
  } else {
    add_guilbaults_families(all, exported);
  }
  add_own_families(all, exported);
  add_phy_families(all, exported);
  return all;
}

Family family_of(const FamilyGroup& group, const FamilyColumn& column) {
  const bool is_counter = column.measure.kind == report::Measure::Kind::counter;
  Family family{group.prefix + std::string(column.key) + (is_counter ? "_total" : ""), std::string(column.meaning)};
  family.type = is_counter ? Type::counter : Type::gauge;
  family.items = group.items;
  family.selected_by = group.selected_by;
  family.write = column.write;
  family.is_live = group.is_live;
  family.unit = column.measure.unit;
  return family;
}

void add_families(std::vector<Family>& to, const FamilyGroup& group, std::span<const FamilyColumn> columns) {
  for (const FamilyColumn& column : columns) to.push_back(family_of(group, column));
}

Family counter_family(const FamilyGroup& group, std::string_view key, std::size_t column, WriteItem write) {
  const counters::Column& of = counters::columns[column];
  Family family = family_of(group, {key, report::counter(of.meaning == counters::Meaning::data ? "bytes" : ""), of.help, write});
  if (!of.help.ends_with('.')) family.help += '.';
  family.column = column;
  return family;
}

std::size_t count(const View& view, Items items) {
  if (items == Items::exporter) return 1;
  if (items == Items::findings) return view.shown_findings() != nullptr ? view.findings->list.size() : 0;
  if (!view.reading) return 0;
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
  if (items == Items::exporter || items == Items::findings) return {items, number};
  const SweptFabric& fabric = *view.reading->fabric;
  if (items == Items::switches_and_hcas) return one_of(Items::switches, fabric.switches.size(), Items::hcas, number);
  if (items == Items::known_switches) return one_of(Items::switches, fabric.switches.size(), Items::gone_switches, number);
  if (items == Items::known_hcas) return one_of(Items::hcas, fabric.hcas.size(), Items::gone_hcas, number);
  return {items, number};
}

Guid ItemWriter::guid() const {
  if (item.kind == Items::findings) return view.findings->list[item.at].guid;
  return is_gone() ? gone_device().guid : device().guid;
}

const DeviceReading* ItemWriter::reading() const {
  const std::vector<DeviceReading>& all = is_switch() ? view.reading->switches : view.reading->hcas;
  return all.empty() ? nullptr : &all[item.at];
}

Sample ItemWriter::port_sample(subnet::PortIndex port) const {
  Sample sample = out.sample();
  sample.label("guid", device().guid).label("port", fabric().subnet.port(port).number);
  return sample;
}

void write_reading_duration(const ItemWriter& to) {
  if (to.view.reading) to.out.sample().value(seconds(to.view.reading->took));
}

void write_port_counter(const ItemWriter& to) {
  constexpr std::uint64_t octets = 4;
  to.each_linked_row([&](const counters::CounterRow& row, subnet::PortIndex) {
    if (!row.is_known(to.family.column)) return;
    const std::uint64_t value = row.value(to.family.column);
    Sample sample = to.port_sample(row.port);
    if (counters::columns[to.family.column].meaning != counters::Meaning::data) return sample.value(value);
    if (value <= std::numeric_limits<std::uint64_t>::max() / octets) return sample.value(value * octets);
    sample.value(static_cast<double>(value) * octets);  // what does not fit 64 bits is written as Prometheus keeps it
  });
}

Guid device_guid(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::Node& node = subnet.node(subnet.port(port).node);
  return node.kind() == subnet::NodeKind::sw ? node.info.port_guid : subnet.port_guid(port);
}

}  // namespace ib::metrics
