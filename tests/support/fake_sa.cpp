// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of the fake fabric (IBA 15.2.5) and the forms of answers (IBA 15.2.1, 13.6.2).
#include "support/fake_sa.hpp"

#include <algorithm>
#include <array>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "support/multi_paths.hpp"

namespace ibtest {

using ib::Bytes;
namespace sa = ib::sa;
namespace smp = ib::smp;

namespace {

constexpr std::size_t record_offset = 56, attribute_offset = 44, rmpp_offset = 24, attribute_id_offset = 16;
constexpr std::uint64_t from_lid_bit = 1, to_lid_bit = 8;  // of a LinkRecord's component mask (IBA 15.2.5.13)
constexpr std::uint16_t no_records = 0x0300, too_many_records = 0x0400;

template <class T>
FakeSa::Record packed(const T& value) {
  FakeSa::Record bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

bool same_bits(Bytes a, Bytes b, std::size_t from, std::size_t count) {
  for (std::size_t bit = from; bit < from + count; ++bit) {
    const auto shift = 7 - bit % 8;
    if ((a[bit / 8] >> shift & 1U) != (b[bit / 8] >> shift & 1U)) return false;
  }
  return true;
}

/// Whether `record` equals `wanted` in all components of `mask`.
bool matches(const ib::StructInfo& info, Bytes record, Bytes wanted, std::uint64_t mask) {
  for (const ib::FieldInfo& field : info.fields) {
    if (field.mask_bit >= 0 && (mask >> field.mask_bit & 1U) != 0 &&
        !same_bits(record, wanted, field.bit_offset, std::size_t{field.bits} * field.count)) {
      return false;
    }
    for (const ib::MemberMask& member : ib::member_masks(field)) {
      if ((mask >> member.bit & 1U) == 0) continue;
      const ib::FieldInfo* inner = ib::find_field(*field.structure, member.member);
      if (inner != nullptr && !same_bits(record, wanted, field.bit_offset + inner->bit_offset, inner->bits)) return false;
    }
  }
  return true;
}

}  // namespace

FakeSa::FakeSa(FakeFabric& fabric) : fabric_(fabric) {
  fabric.network.rmpp = true;
  fabric.network.gmp = [this](Bytes request, const ib::path::Path& path) { return answer(request, path); };
}

std::optional<FakeFabric::Answer> FakeSa::answer(Bytes mad, const ib::path::Path& path) {
  // What came in segments has the length that it needs.
  std::vector<std::uint8_t> request(mad.begin(), mad.end());
  request.resize(std::max(request.size(), ib::mad::packet_size));
  const sa::Format query = sa::Format::unpack(request);
  const Bytes wanted = Bytes(request).subspan(record_offset);
  asked.push_back({query.method, query.attribute_id, query.component_mask, {wanted.begin(), wanted.end()}, path});
  if (silent) return std::nullopt;
  if (status != 0) return answer_to(request, status);
  const bool is_multi = query.method == ib::mad::method::get_multi;
  const ib::StructInfo* info = ib::find_attribute(ib::mad::mgmt_class::sa, 2, is_multi ? sa::PathRecord::attribute_id : query.attribute_id);
  std::vector<Record> found = records(query.attribute_id, wanted);
  if (lie) lie(query.attribute_id, found);
  const bool is_path = info == &sa::PathRecord::info();  // paths are made to fit the query
  if (!is_path) std::erase_if(found, [&](const Record& record) { return !matches(*info, record, wanted, query.component_mask); });
  if (query.attribute_id == sa::LinkRecord::attribute_id && is_rounded(wanted, query.component_mask)) found.clear();
  const bool table = is_multi || query.method == ib::mad::method::get_table;
  if (!table && found.size() != 1) return answer_to(request, found.empty() ? no_records : too_many_records);

  FakeFabric::Answer out = answer_to(request);
  const std::size_t step = (info->bytes + 7U) / 8 * 8;
  if (is_multi) ib::store_be(&out[attribute_id_offset], sa::PathRecord::attribute_id);  // IBA o15-0.2.7
  out.resize(record_offset);
  for (const Record& record : found) {
    out.insert(out.end(), record.begin(), record.end());
    if (table) out.resize(out.size() + step - info->bytes);
  }
  ib::store_be(&out[attribute_offset], static_cast<std::uint16_t>(table && found.empty() ? 0 : step / 8));
  if (table) {
    const bool whole = !cut || out.size() < ib::mad::packet_size;
    out[rmpp_offset] = 1;
    out[rmpp_offset + 1] = whole ? 1 : 0;  // DATA; or nothing, as mad/channel/simulator.cpp passes on what no kernel has cut into segments
    out[rmpp_offset + 2] = whole ? 0x07 : 3;  // Active, First and Last; or without Last
    ib::store_be(&out[rmpp_offset + 4], std::uint32_t{1});
    ib::store_be(&out[rmpp_offset + 8], static_cast<std::uint32_t>(out.size() - record_offset + 20));
    if (!whole) out.resize(ib::mad::packet_size);
  }
  out.resize(std::max(out.size(), ib::mad::packet_size));
  return out;
}

/// Whether a query for links names a switch by a LID that changes when it is rounded; the ranges of end ports begin at round LIDs.
bool FakeSa::is_rounded(Bytes wanted, std::uint64_t mask) {
  const sa::LinkRecord link = sa::LinkRecord::unpack(wanted);
  const auto changes = [this](ib::Lid lid) {
    const auto of_lid = [lid](const Record& bytes) { return sa::SwitchInfoRecord::unpack(bytes).lid == lid; };
    return (lid.value & ((1U << lmc) - 1U)) != 0 && std::ranges::any_of(switches(), of_lid);
  };
  return ((mask & from_lid_bit) != 0 && changes(link.from_lid)) || ((mask & to_lid_bit) != 0 && changes(link.to_lid));
}

std::vector<FakeSa::Record> FakeSa::records(std::uint16_t attribute, Bytes wanted) {
  switch (attribute) {
    case sa::NodeRecord::attribute_id:
      return nodes();
    case sa::PortInfoRecord::attribute_id:
      return ports();
    case sa::SwitchInfoRecord::attribute_id:
      return switches();
    case sa::LinearForwardingTableRecord::attribute_id:
      return linear_forwarding_tables();
    case sa::LinkRecord::attribute_id:
      return links();
    case sa::PathRecord::attribute_id:
      return paths(wanted);
    case sa::MultiPathRecord::attribute_id:
      return multi_paths(wanted);
    default:
      return {};
  }
}

std::vector<FakeSa::Record> FakeSa::nodes() {
  std::vector<Record> all;
  for (FakeFabric::NodeId id = 0; id < fabric_.size(); ++id) {
    const FakeFabric::Node& node = fabric_.node(id);
    for (unsigned port = node.is_switch() ? 0 : 1; port < (node.is_switch() ? 1 : node.ports.size()); ++port) {
      if (!node.is_switch() && !fabric_.is_up(id, port)) continue;  // an SA does not see an end port without a link
      sa::NodeRecord record;
      record.lid = node.ports[port].info.lid;
      record.node_info = node.info;
      record.node_info.port_guid = fabric_.port_guid(id, port);
      record.node_info.local_port_num = static_cast<std::uint8_t>(node.is_switch() ? 1 : port);
      record.node_description.node_string = node.description;
      all.push_back(packed(record));
    }
  }
  return all;
}

std::vector<FakeSa::Record> FakeSa::ports() {
  std::vector<Record> all;
  for (FakeFabric::NodeId id = 0; id < fabric_.size(); ++id) {
    const FakeFabric::Node& node = fabric_.node(id);
    for (unsigned port = node.is_switch() ? 0 : 1; port < node.ports.size(); ++port) {
      if (!node.is_switch() && !fabric_.is_up(id, port)) continue;
      sa::PortInfoRecord record;
      record.endport_lid = node.ports[node.is_switch() ? 0 : port].info.lid;
      record.port_num = static_cast<std::uint8_t>(port);
      record.port_info = fabric_.port_info(id, port);
      all.push_back(packed(record));
    }
  }
  return all;
}

std::vector<FakeSa::Record> FakeSa::switches() {
  std::vector<Record> all;
  for (FakeFabric::NodeId id = 0; id < fabric_.size(); ++id) {
    const FakeFabric::Node& node = fabric_.node(id);
    if (!node.is_switch()) continue;
    sa::SwitchInfoRecord record;
    record.lid = node.ports[0].info.lid;
    record.switch_info = node.switch_info;
    all.push_back(packed(record));
  }
  return all;
}

std::vector<FakeSa::Record> FakeSa::linear_forwarding_tables() {
  std::vector<Record> all;
  for (FakeFabric::NodeId id = 0; id < fabric_.size(); ++id) {
    const FakeFabric::Node& node = fabric_.node(id);
    for (std::size_t first = 0; first < node.lft.size(); first += 64) {
      sa::LinearForwardingTableRecord record;
      record.lid = node.ports[0].info.lid;
      record.block_num = static_cast<std::uint16_t>(first / 64);
      std::array<std::uint8_t, 64> block{};
      std::copy_n(node.lft.begin() + static_cast<std::ptrdiff_t>(first), std::min(block.size(), node.lft.size() - first), block.begin());
      record.linear_forwarding_table = smp::LinearForwardingTable::unpack(block);
      all.push_back(packed(record));
    }
  }
  return all;
}

std::vector<FakeSa::Record> FakeSa::links() {
  std::vector<Record> all;
  for (FakeFabric::NodeId id = 0; id < fabric_.size(); ++id) {
    const FakeFabric::Node& node = fabric_.node(id);
    for (unsigned port = 1; port < node.ports.size(); ++port) {
      if (!fabric_.is_up(id, port)) continue;
      const auto [peer, peer_port] = *node.ports[port].peer;
      const FakeFabric::Node& other = fabric_.node(peer);
      sa::LinkRecord record;
      record.from_lid = node.ports[node.is_switch() ? 0 : port].info.lid;
      record.from_port = static_cast<std::uint8_t>(port);
      record.to_lid = other.ports[other.is_switch() ? 0 : peer_port].info.lid;
      record.to_port = static_cast<std::uint8_t>(peer_port);
      all.push_back(packed(record));
    }
  }
  return all;
}

/// A path from each source that there is to each destination.
std::vector<FakeSa::Record> FakeSa::multi_paths(Bytes wanted) {
  const MultiPathGids ends = gids_of(wanted);
  std::vector<Record> all;
  for (const ib::Gid& source : ends.sources) {
    for (const ib::Gid& destination : ends.destinations) {
      sa::PathRecord query;
      query.dgid = source;
      const std::vector<Record> from = paths(packed(query));
      query.dgid = destination;
      const std::vector<Record> to = paths(packed(query));
      if (from.empty() || to.empty()) continue;
      auto path = sa::PathRecord::unpack(to[0]);
      path.sgid = source;
      path.slid = sa::PathRecord::unpack(from[0]).dlid;
      all.push_back(packed(path));
    }
  }
  return all;
}

/// A path from the requester's port to the end port that the query names by GID or LID, or to each end port if it names none.
std::vector<FakeSa::Record> FakeSa::paths(Bytes wanted) {
  const sa::PathRecord query = sa::PathRecord::unpack(wanted);
  const bool all = query.dgid == ib::Gid{} && query.dlid == ib::Lid{};
  std::vector<Record> found;
  for (const Record& bytes : nodes()) {
    const sa::NodeRecord node = sa::NodeRecord::unpack(bytes);
    const ib::Gid gid = ib::Gid::from(ib::link_local_prefix, node.node_info.port_guid);
    if (!all && query.dgid != gid && (query.dlid == ib::Lid{} || query.dlid != node.lid)) continue;
    sa::PathRecord record;
    record.dgid = gid;
    record.dlid = node.lid;
    record.sgid = fabric_.end_port().default_gid();
    record.slid = fabric_.end_port().lid;
    record.reversible = 1;
    record.p_key = 0xffff;
    record.sl = 2;
    record.mtu = smp::Mtu::mtu_2048;
    record.rate = sa::Rate::gbps_10;
    record.packet_life_time = 17;
    if (path_lie) path_lie(record);
    found.push_back(packed(record));
    if (!all) break;
  }
  return found;
}

}  // namespace ibtest
