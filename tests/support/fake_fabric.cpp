// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How the fake subnet carries and answers SMPs (IBA 14.2.2, 14.2.5).
#include "support/fake_fabric.hpp"

#include <algorithm>

#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"

namespace ibtest {

using namespace std::chrono_literals;
using ib::Bytes;
using ib::load_be;
using ib::MutableBytes;
using ib::mad::HeaderView;
namespace mlx = ib::mlx;
namespace smp = ib::smp;
namespace status = ib::mad::status;

namespace {

constexpr std::size_t initial_path_offset = 128, data_offset = 64;

smp::PortInfo default_port_info(unsigned number) {
  smp::PortInfo info;
  info.gid_prefix = ib::link_local_prefix;
  info.local_port_num = static_cast<std::uint8_t>(number);
  info.link_width_enabled = info.link_width_supported = 3;
  info.link_width_active = 2;
  info.link_speed_enabled = info.link_speed_supported = 7;
  info.link_speed_active = 4;
  info.link_down_default_state = smp::LinkDownDefaultState::polling;
  info.neighbor_mtu = info.mtu_cap = smp::Mtu::mtu_4096;
  info.vl_cap = info.operational_vls = smp::VLCap::vl0_7;
  info.guid_cap = 32;
  info.subnet_timeout = 18;
  info.resp_time_value = 16;
  return info;
}

/// Whether a fault of an agent, which has answered `answered` times, drops the request.
bool is_dropped(FakeFabric::Faults& faults, unsigned answered, Bytes mad) {
  if (faults.silent || answered >= faults.answers_left) return true;
  if (faults.deaf && faults.deaf()) return true;
  if (faults.ignores != 0 && faults.ignores == HeaderView(mad).attribute_id()) return true;
  if (faults.drop_next == 0) return false;
  --faults.drop_next;
  return true;
}

/// The status with which a fault makes the agent answer a request.
std::optional<std::uint16_t> forced_status(FakeFabric::Faults& faults, Bytes mad) {
  if (faults.busy_next > 0) {
    --faults.busy_next;
    return status::busy;
  }
  const bool applies = faults.status_attribute == 0 || faults.status_attribute == HeaderView(mad).attribute_id();
  return faults.status != 0 && applies ? std::optional(faults.status) : std::nullopt;
}

}  // namespace

FakeFabric::FakeFabric() : random_(1) {}

FakeFabric::NodeId FakeFabric::add(smp::NodeType type, std::uint64_t guid, unsigned ports, std::string_view description) {
  Node& node = nodes_.emplace_back();
  node.info.base_version = node.info.class_version = 1;
  node.info.node_type = type;
  node.info.num_ports = static_cast<std::uint8_t>(ports);
  node.info.node_guid = node.info.system_image_guid = ib::Guid{guid};
  node.info.partition_cap = 32;
  node.info.device_id = 0x1003;
  node.info.vendor_id = 0x2c9;
  std::copy_n(description.begin(), std::min(description.size(), node.description.size()), node.description.begin());
  node.switch_info.linear_fdb_cap = 49152;
  node.switch_info.life_time_value = 17;
  for (unsigned i = 0; i <= ports; ++i) node.ports.emplace_back().info = default_port_info(i);
  return nodes_.size() - 1;
}

FakeFabric::NodeId FakeFabric::add_switch(std::uint64_t guid, unsigned ports, std::string_view description) {
  return add(smp::NodeType::switch_, guid, ports, description);
}
FakeFabric::NodeId FakeFabric::add_ca(std::uint64_t guid, unsigned ports, std::string_view description) {
  return add(smp::NodeType::channel_adapter, guid, ports, description);
}
FakeFabric::NodeId FakeFabric::add_router(std::uint64_t guid, unsigned ports, std::string_view description) {
  return add(smp::NodeType::router, guid, ports, description);
}

void FakeFabric::link(NodeId a, unsigned port_a, NodeId b, unsigned port_b) {
  nodes_.at(a).ports.at(port_a).peer = {b, port_b};
  nodes_.at(b).ports.at(port_b).peer = {a, port_a};
}

void FakeFabric::set_link(NodeId node, unsigned port, bool up) { nodes_.at(node).ports.at(port).up = up; }

bool FakeFabric::is_up(const Node& node, unsigned port) const {
  const Port& here = node.ports[port];
  return here.up && here.peer && nodes_[here.peer->first].ports[here.peer->second].up;
}

std::optional<FakeFabric::Target> FakeFabric::across(NodeId node, unsigned port) const {
  if (port == 0 || port >= nodes_[node].ports.size() || !is_up(nodes_[node], port)) return {};
  const auto [peer, in_port] = *nodes_[node].ports[port].peer;
  return Target{peer, in_port};
}

void FakeFabric::assign_lids() {
  std::uint16_t next = 1;
  for (Node& node : nodes_) {
    if (node.is_switch()) {
      for (Port& port : node.ports) port.info.lid = ib::Lid{next};
      ++next;
    } else {
      for (std::size_t i = 1; i < node.ports.size(); ++i) node.ports[i].info.lid = ib::Lid{next++};
    }
    for (Port& port : node.ports) port.info.master_sm_lid = ib::Lid{1};
  }
  route_switches();
}

void FakeFabric::route_switches() {
  std::uint16_t top = 0;
  for (const Node& node : nodes_) top = std::max(top, node.ports.back().info.lid.value);
  for (Node& node : nodes_) {
    if (!node.is_switch()) continue;
    node.lft.assign(top / 64U * 64 + 64, 255);
    node.switch_info.linear_fdb_top = top;
  }
  // From every end port backwards, breadth first: the port through which a switch is reached is its way there.
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    for (unsigned p = nodes_[id].is_switch() ? 0 : 1; p < (nodes_[id].is_switch() ? 1 : nodes_[id].ports.size()); ++p) {
      const std::uint16_t lid = nodes_[id].ports[p].info.lid.value;
      std::deque<NodeId> queue;
      const auto reach = [&](std::optional<Target> target) {
        if (!target || !nodes_[target->node].is_switch() || nodes_[target->node].lft[lid] != 255) return;
        nodes_[target->node].lft[lid] = static_cast<std::uint8_t>(target->in_port);
        queue.push_back(target->node);
      };
      if (nodes_[id].is_switch()) {
        nodes_[id].lft[lid] = 0;
        queue.push_back(id);
      } else {
        reach(across(id, p));
      }
      for (; !queue.empty(); queue.pop_front()) {
        for (unsigned out = 1; out < nodes_[queue.front()].ports.size(); ++out) reach(across(queue.front(), out));
      }
    }
  }
}

FakeFabric FakeFabric::fat_tree(unsigned leaves, unsigned spines, unsigned hosts) {
  FakeFabric fabric;
  std::vector<NodeId> tops;
  for (unsigned s = 0; s < spines; ++s) tops.push_back(fabric.add_switch(0x5000 + s, leaves, "spine" + std::to_string(s)));
  std::optional<NodeId> first;
  for (unsigned l = 0; l < leaves; ++l) {
    const NodeId leaf = fabric.add_switch(0x6000 + l, hosts + spines, "leaf" + std::to_string(l));
    for (unsigned s = 0; s < spines; ++s) fabric.link(leaf, hosts + 1 + s, tops[s], l + 1);
    for (unsigned h = 0; h < hosts; ++h) {
      const NodeId host = fabric.add_ca(0x100000 + 16 * (l * hosts + h), 1, "host" + std::to_string(l * hosts + h) + " HCA-1");
      fabric.link(host, 1, leaf, h + 1);
      if (!first) first = host;
    }
  }
  fabric.assign_lids();
  if (first) fabric.attach(*first);
  return fabric;
}

void FakeFabric::attach(NodeId id, unsigned port) {
  host_ = id;
  host_port_ = port;
  const Node& node = nodes_.at(id);
  const smp::PortInfo& info = node.ports.at(port).info;
  device_ = std::make_unique<ib::sys::Device>();
  device_->name = "fake0";
  device_->node_type = static_cast<unsigned>(node.info.node_type);
  device_->node_guid = device_->system_image_guid = node.info.node_guid;
  auto end_port = std::make_unique<ib::sys::EndPort>();
  end_port->device = device_.get();
  end_port->number = port;
  end_port->link_layer = ib::sys::LinkLayer::infiniband;
  end_port->state = 4;
  end_port->phys_state = 5;
  end_port->lid = info.lid;
  end_port->lmc = info.lmc;
  end_port->sm_lid = info.master_sm_lid;
  end_port->gids = {ib::Gid::from(ib::link_local_prefix, ib::Guid{node.info.node_guid.value + (node.is_switch() ? 0 : port)})};
  end_port->pkeys = {ib::default_pkey};
  end_port->umad = "umad0";
  end_port->smi_port = end_port->gsi_port = end_port.get();
  end_port_ = end_port.get();
  device_->ports.push_back(std::move(end_port));
}

std::unique_ptr<FakeChannel> FakeFabric::open() {
  auto channel = std::make_unique<FakeChannel>(
      end_port(), [this](FakeChannel& on, Bytes mad, const ib::path::Path& path, ib::async::Duration) { carry(on, mad, path); });
  channel_ = channel.get();
  channel_->rmpp = network.rmpp;
  channel_->on_serve = network.on_serve;
  channel_->reports = network.reports;
  return channel;
}

void FakeFabric::carry(FakeChannel& channel, Bytes mad, const ib::path::Path& path) {
  ib::async::Duration delay = network.delay;
  const bool is_smp = ib::mad::is_smp(mad[1]);
  const std::optional<Target> target = is_smp ? follow_route(mad, path) : find_lid(path.ib().dlid);
  if (is_smp) {
    requests_.resize(nodes_.size() + 1);
    ++requests_[target ? target->node : nodes_.size()];
  }
  if (network.loss > 0 && std::uniform_real_distribution<>(0, 1)(random_) < network.loss) return;
  if (is_smp && channel.in_network() >= network.capacity) return;
  std::optional<Answer> reply = is_smp ? answer_smp(target, mad, delay) : answer_gmp(target, mad, path, delay);
  if (network.tamper) {
    for (Answer& changed : network.tamper(mad, std::move(reply))) channel.deliver(std::move(changed), delay);
    return;
  }
  if (!reply) return;
  if (network.duplicate) channel.deliver(*reply, delay + 1us);
  channel.deliver(std::move(*reply), delay);
}

std::optional<FakeFabric::Answer> FakeFabric::answer_smp(const std::optional<Target>& target, Bytes mad, ib::async::Duration& delay) {
  if (!target) return {};
  Node& node = nodes_[target->node];
  if (is_dropped(node.faults, node.answered, mad)) return {};
  Answer reply = answer(target->node, target->in_port, mad);
  if (node.faults.delay) delay = *node.faults.delay;
  if (mad[1] == ib::mad::mgmt_class::smp && !leads_back(*target)) return {};
  return reply;
}

std::optional<FakeFabric::Answer> FakeFabric::answer_gmp(const std::optional<Target>& target, Bytes mad, const ib::path::Path& path,
                                                         ib::async::Duration& delay) {
  Node* const node = target ? &nodes_[target->node] : nullptr;
  const auto found = node != nullptr ? node->services.find(mad[1]) : std::map<std::uint8_t, Service>::iterator{};
  // What answers for LIDs that nobody has answers no GMP that is lost on its way to an end port, and nothing that does not find back.
  if (node == nullptr && is_owned(path.ib().dlid)) return {};
  if (node == nullptr || found == node->services.end()) {
    std::optional<Answer> reply = network.gmp ? network.gmp(mad, path) : std::nullopt;
    return node == nullptr || leads_back(*target) ? reply : std::nullopt;
  }
  Service& service = found->second;
  ++service.requests;
  if (is_dropped(node->faults, node->answered, mad) || is_dropped(service.faults, service.answered, mad)) return {};
  std::optional<std::uint16_t> code = forced_status(node->faults, mad);
  if (!code) code = forced_status(service.faults, mad);
  std::optional<Answer> reply;
  if (code) {
    reply = answer_to(mad, *code);
  } else {
    reply = service.answer(target->in_port, mad);
  }
  if (!reply) return {};
  for (const Faults* faults : {&node->faults, &service.faults}) {
    if (faults->lie) faults->lie(*reply);
    if (faults->delay) delay = *faults->delay;
  }
  ++service.answered;
  answered(*node);
  if (!leads_back(*target)) return {};
  return reply;
}

void FakeFabric::answered(Node& node) {
  if (++node.answered != node.faults.vanish_after) return;
  for (Port& port : node.ports) port.up = false;
}

std::optional<FakeFabric::Target> FakeFabric::follow_route(Bytes mad, const ib::path::Path& path) const {
  Target at{host_, host_port_};
  if (mad[1] == ib::mad::mgmt_class::smp) {
    if (!network.lid_routing) return {};
    return path.ib().dlid == ib::permissive_lid ? at : find_lid(path.ib().dlid);
  }
  const ib::Lid dr_slid{load_be<std::uint16_t>(&mad[32])}, dr_dlid{load_be<std::uint16_t>(&mad[34])};
  if (dr_slid != ib::permissive_lid || dr_dlid != ib::permissive_lid) {
    if (!network.combined_routes) return {};
    if (dr_slid != ib::permissive_lid) {
      const std::optional<Target> start = find_lid(path.ib().dlid);
      if (!start) return {};
      at = *start;
    }
  }
  const unsigned hops = mad[7];
  if (hops >= 64) return {};
  for (unsigned hop = 1; hop <= hops; ++hop) {
    const unsigned out = mad[initial_path_offset + hop];
    // Only switches forward; the host itself sends through its own port.
    const bool forwards = nodes_[at.node].is_switch() || (hop == 1 && out == host_port_);
    const std::optional<Target> next = forwards ? across(at.node, out) : std::nullopt;
    if (!next) return {};
    at = *next;
  }
  return at;
}

bool FakeFabric::has_lid(const Target& at, ib::Lid lid) const {
  return nodes_[at.node].ports[nodes_[at.node].is_switch() ? 0 : at.in_port].info.lid == lid;
}

/// Whether an end port has the LID, wherever the forwarding tables lead it.
bool FakeFabric::is_owned(ib::Lid lid) const {
  return std::ranges::any_of(nodes_, [lid](const Node& node) {
    const auto first = node.ports.begin() + (node.is_switch() ? 0 : 1), end = node.is_switch() ? first + 1 : node.ports.end();
    return std::any_of(first, end, [lid](const Port& port) { return port.info.lid == lid; });
  });
}

/// Whether the answer of an agent by LID arrives at the host: it is forwarded like a request. Without a LID the host gets all answers.
bool FakeFabric::leads_back(const Target& from) const {
  const ib::Lid lid = nodes_[host_].ports[nodes_[host_].is_switch() ? 0 : host_port_].info.lid;
  if (lid == ib::Lid{}) return true;
  const std::optional<Target> end = find_lid(from, lid);
  return end && end->node == host_;
}

/// Where a packet for `lid` arrives that leaves a switch, or the port of another node.
std::optional<FakeFabric::Target> FakeFabric::find_lid(Target from, ib::Lid lid) const {
  if (has_lid(from, lid)) return from;
  std::optional<Target> next = nodes_[from.node].is_switch() ? from : across(from.node, from.in_port);
  for (unsigned hop = 0; next && hop < 64; ++hop) {
    if (has_lid(*next, lid)) return next;
    const Node& node = nodes_[next->node];
    if (!node.is_switch() || lid.value >= node.lft.size()) return {};
    next = across(next->node, node.lft[lid.value]);
  }
  return {};
}

FakeFabric::Answer FakeFabric::answer(NodeId id, unsigned in_port, Bytes request) {
  Node& node = nodes_[id];
  Answer reply = answer_to(request);
  std::optional<std::uint16_t> code = forced_status(node.faults, request);
  if (!code) code = fill(id, in_port, request, MutableBytes(reply).subspan(data_offset, 64));
  Answer with_status = answer_to(request, *code);
  std::copy_n(reply.begin() + data_offset, 64, with_status.begin() + data_offset);
  if (node.faults.lie) node.faults.lie(with_status);
  answered(node);
  return with_status;
}

std::uint16_t FakeFabric::fill(NodeId id, unsigned in_port, Bytes request, MutableBytes data) {
  Node& node = nodes_[id];
  const HeaderView header(request);
  const std::uint32_t modifier = header.attribute_modifier();
  const bool get = header.method() == ib::mad::method::get;
  if (header.attribute_id() == smp::PortInfo::attribute_id) return fill_port_info(node, in_port, request, data);
  if (!get && header.attribute_id() == smp::SMInfo::attribute_id && node.sm_info) {
    sets.emplace_back(request.begin(), request.end());
    const ib::Guid guid = node.sm_info->guid;
    node.sm_info = smp::SMInfo::unpack(request.subspan(data_offset, 64));
    node.sm_info->guid = guid;
    node.sm_info->pack(data);
    return 0;
  }
  if (!get) return status::unsupported_method_attribute;
  std::ranges::fill(data, std::uint8_t{0});
  switch (header.attribute_id()) {
    case smp::NodeInfo::attribute_id: {
      smp::NodeInfo info = node.info;
      info.port_guid = ib::Guid{node.info.node_guid.value + (node.is_switch() ? 0 : in_port)};
      info.local_port_num = static_cast<std::uint8_t>(in_port);
      info.pack(data);
      return 0;
    }
    case smp::NodeDescription::attribute_id:
      std::ranges::copy(node.description, data.begin());
      return 0;
    case smp::SwitchInfo::attribute_id:
      if (!node.is_switch()) return status::unsupported_method_attribute;
      node.switch_info.pack(data);
      return 0;
    case smp::SMInfo::attribute_id:
      if (!node.sm_info) return status::unsupported_method_attribute;
      node.sm_info->pack(data);
      return 0;
    case smp::LinearForwardingTable::attribute_id:
      if (!node.is_switch()) return status::unsupported_method_attribute;
      if (modifier >= 768) return status::invalid_attribute_or_modifier;
      std::ranges::fill(data, std::uint8_t{255});
      for (std::size_t i = 0; i < 64 && modifier * 64 + i < node.lft.size(); ++i) data[i] = node.lft[modifier * 64 + i];
      return 0;
    case smp::MulticastForwardingTable::attribute_id:
      return fill_mft(node, modifier, data);
    case mlx::AdaptiveRoutingInfo::attribute_id: {
      if (!node.is_switch() || !node.adaptive_routing) return status::unsupported_method_attribute;
      mlx::AdaptiveRoutingInfo info;
      info.enabled = *node.adaptive_routing ? 1 : 0;
      info.group_cap = 0x100;
      info.pack(data);
      return 0;
    }
    case smp::SLToVLMappingTable::attribute_id:
      return fill_sl_to_vl(node, modifier, data);
    case smp::PKeyTable::attribute_id:
      return fill_pkeys(node, in_port, modifier, data);
    case smp::PortInfoExtended::attribute_id: {
      const unsigned number = modifier == 0 && !node.is_switch() ? in_port : modifier & 0xffU;
      if (number >= node.ports.size()) return status::invalid_attribute_or_modifier;
      if (!node.ports[number].extended) return status::unsupported_method_attribute;
      node.ports[number].extended->pack(data);
      return 0;
    }
    case smp::GuidInfo::attribute_id:
      if (modifier == 0) ib::store_be(data.data(), node.info.node_guid.value + (node.is_switch() ? 0 : in_port));
      return 0;
    default:
      return status::unsupported_method_attribute;
  }
}

/// The modifier names a block of 32 P_Keys and, of a switch, the port in its upper half (IBA 14.2.5.7).
std::uint16_t FakeFabric::fill_pkeys(const Node& node, unsigned in_port, std::uint32_t modifier, MutableBytes data) {
  const unsigned number = node.is_switch() ? modifier >> 16 : in_port, first = (modifier & 0xffffU) * 32;
  if (number >= node.ports.size()) return status::invalid_attribute_or_modifier;
  const std::vector<std::uint16_t>& pkeys = node.ports[number].pkeys;
  for (std::size_t i = 0; i < 32 && first + i < pkeys.size(); ++i) ib::store_be(&data[i * 2], pkeys[first + i]);
  return 0;
}

/// The modifier names the input port and, in its low byte, the output port (IBA 14.2.5.8).
std::uint16_t FakeFabric::fill_sl_to_vl(const Node& node, std::uint32_t modifier, MutableBytes data) {
  const unsigned in = modifier >> 8 & 0xffU, out = modifier & 0xffU;
  if (in >= node.ports.size() || out >= node.ports.size()) return status::invalid_attribute_or_modifier;
  smp::SLToVLMappingTable table;
  const auto known = node.sl_to_vl.find({in, out});
  for (unsigned sl = 0; sl < table.sl_to_vl.size(); ++sl) {
    table.sl_to_vl[sl] = known != node.sl_to_vl.end() ? known->second[sl] : static_cast<std::uint8_t>(sl % 8);
  }
  table.pack(data);
  return 0;
}

/// The modifier names a block of 32 multicast LIDs and, in its upper four bits, the 16 ports that the masks are of (IBA 14.2.5.12).
std::uint16_t FakeFabric::fill_mft(const Node& node, std::uint32_t modifier, MutableBytes data) {
  if (!node.is_switch()) return status::unsupported_method_attribute;
  const unsigned block = modifier & 0x1ffU, position = modifier >> 28;
  if (block * 32 >= node.switch_info.multicast_fdb_cap || position * 16 >= node.ports.size()) return status::invalid_attribute_or_modifier;
  for (const auto& [mlid, ports] : node.mft) {
    if (mlid < 0xc000 || (mlid - 0xc000U) / 32 != block) continue;
    std::uint16_t mask = 0;
    for (const unsigned port : ports) mask = static_cast<std::uint16_t>(mask | (port / 16 == position ? 1U << port % 16 : 0U));
    ib::store_be(&data[mlid % 32U * 2], mask);
  }
  return 0;
}

std::uint16_t FakeFabric::fill_port_info(Node& node, unsigned in_port, Bytes request, MutableBytes data) {
  const HeaderView header(request);
  unsigned number = header.attribute_modifier() & 0xffU;
  if (number == 0 && !node.is_switch()) number = in_port;
  if (number >= node.ports.size()) return status::invalid_attribute_or_modifier;
  Port& port = node.ports[number];
  if (header.method() == ib::mad::method::set) {
    const smp::PortInfo wanted = smp::PortInfo::unpack(request.subspan(data_offset, 64));
    sets.emplace_back(request.begin(), request.end());
    if (wanted.port_physical_state == smp::PortPhysicalState::disabled) port.up = false;
    if (wanted.port_physical_state == smp::PortPhysicalState::polling) port.up = true;
    const smp::PortInfo before = std::exchange(port.info, wanted);
    const auto keep = [](std::uint8_t& now, std::uint8_t then) { now = now == 0 ? then : now; };  // 0: no change (IBA 14.2.5.6)
    keep(port.info.link_speed_enabled, before.link_speed_enabled);
    keep(port.info.link_width_enabled, before.link_width_enabled);
    keep(port.info.link_speed_ext_enabled, before.link_speed_ext_enabled);
    keep(port.info.link_speed_ext_enabled2, before.link_speed_ext_enabled2);
  }
  smp::PortInfo info = port_info(node, number);
  info.local_port_num = static_cast<std::uint8_t>(in_port);
  info.pack(data);
  return 0;
}

ib::Guid FakeFabric::port_guid(NodeId id, unsigned port) const {
  const Node& node = nodes_.at(id);
  return ib::Guid{node.info.node_guid.value + (node.is_switch() ? 0 : port)};
}

smp::PortInfo FakeFabric::port_info(NodeId node, unsigned port) const { return port_info(nodes_.at(node), port); }

smp::PortInfo FakeFabric::port_info(const Node& node, unsigned number) const {
  const Port& port = node.ports.at(number);
  smp::PortInfo info = port.info;
  const bool up = number == 0 || is_up(node, number);
  info.port_state = up ? smp::PortState::active : smp::PortState::down;
  info.port_physical_state =
      up ? smp::PortPhysicalState::link_up : (port.up ? smp::PortPhysicalState::polling : smp::PortPhysicalState::disabled);
  return info;
}

}  // namespace ibtest
