// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/families.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ib::metrics {

namespace {

std::span<const Device> devices_of(const SweptFabric& fabric, Items items) {
  return items == Items::switches ? fabric.switches() : items == Items::hcas ? fabric.hcas() : std::span(fabric.devices);
}

std::span<const GoneDevice> gone_of(const SweptFabric& fabric, const FamilyGroup& group) {
  if (!group.has_gone) return {};
  const auto hcas = std::ranges::find(fabric.gone, false, &GoneDevice::is_switch);
  return group.items == Items::switches ? std::span(fabric.gone.begin(), hcas) : std::span(hcas, fabric.gone.end());
}

}  // namespace

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

FamilyGroup group_of(Items items, std::string_view part, std::uint8_t further, bool is_live) {
  const bool is_switch = items == Items::switches;
  const auto by = static_cast<std::uint8_t>((is_switch ? select_switch : select_hca) | further);
  return {(is_switch ? "infiniband_switch_" : "infiniband_hca_") + std::string(part), items, by, is_live};
}

Family::Family(FamilyGroup of, const FamilyColumn& as)
    : FamilyHead{of.prefix + std::string(as.key), as.measure, std::string(as.meaning)}, group(std::move(of)), write(as.write) {
  if (measure.kind == report::Measure::Kind::counter) name += "_total";
}

Family::Family(FamilyGroup of, std::string_view key, std::size_t counter, WriteItem writer)
    : Family(std::move(of), {key, report::counter(counters::columns[counter].meaning == counters::Meaning::data ? "bytes" : ""),
                             counters::columns[counter].help, writer}) {
  if (!help.ends_with('.')) help += '.';
  column = counter;
}

void add_families(std::vector<Family>& to, const FamilyGroup& group, std::span<const FamilyColumn> columns) {
  for (const FamilyColumn& column : columns) to.emplace_back(group, column);
}

std::size_t count(const View& view, const Family& family) {
  if (family.group.items == Items::exporter) return 1;
  if (family.group.items == Items::findings) return view.shown_findings() != nullptr ? view.findings->list.size() : 0;
  if (!view.reading) return 0;
  const SweptFabric& fabric = *view.reading->fabric;
  return devices_of(fabric, family.group.items).size() + gone_of(fabric, family.group).size();
}

ItemWriter::ItemWriter(const View& of, const Exported& what, const Family& by, std::size_t number, Exposition& to)
    : view(of), exported(what), family(by), out(to) {
  if (family.group.items == Items::exporter) return;
  if (family.group.items == Items::findings) {
    finding = &view.findings->list[number];
    return;
  }
  const std::span<const Device> devices = devices_of(fabric(), family.group.items);
  if (number < devices.size()) {
    device_ = &devices[number];
  } else {
    gone = &gone_of(fabric(), family.group)[number - devices.size()];
  }
}

Guid ItemWriter::guid() const {
  if (finding != nullptr) return finding->end ? finding->end->guid : Guid{};
  return gone != nullptr ? gone->guid : device().guid;
}

const DeviceReading* ItemWriter::reading() const {
  const auto at = static_cast<std::size_t>(device_ - fabric().devices.data());
  return at < view.reading->devices.size() ? &view.reading->devices[at] : nullptr;
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

bool is_in_shard(Guid guid, std::uint32_t shards, std::uint32_t shard) {
  // GUIDs of one maker differ in few bits. This spreads them (the finalizer of splitmix64).
  std::uint64_t hash = guid.value;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111eb;
  return (hash ^ hash >> 31U) % shards == shard;
}

Page::Page(const PageRules& rules, View view, PagePart part)
    : rules_(rules), view_(std::move(view)), part_(part), exposition_(part.format, rules.labels) {}

bool Page::is_selected(const Family& family) const {
  if (family.group.items == Items::exporter && part_.shard != 0) return false;
  return family.group.selected_by == 0 || (family.group.selected_by & part_.selected) != 0;
}

bool Page::next(std::string& out, std::size_t size) {
  std::string& text = exposition_.buffer();
  while (text.size() < size && family_ < rules_.families.size()) {
    const Family& family = rules_.families[family_];
    if (!is_selected(family) || item_ == count(view_, family)) {
      ++family_, item_ = 0, has_begun_ = false;
      continue;
    }
    if (!std::exchange(has_begun_, true)) exposition_.begin(family);
    const ItemWriter item(view_, rules_.exported, family, item_++, exposition_);
    if (family.group.items == Items::exporter || is_in_shard(item.guid(), part_.shards, part_.shard)) family.write(item);
  }
  if (text.size() < size && !std::exchange(has_ended_, true)) exposition_.end();
  out.clear();
  out.swap(text);
  return !out.empty();
}

}  // namespace ib::metrics
