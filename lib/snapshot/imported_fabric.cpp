// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/imported_fabric.hpp"

#include <utility>

#include "base/error.hpp"
#include "iba-gen/mad.hpp"
#include "snapshot/format.hpp"
#include "snapshot/parts.hpp"
#include "subnet/sweep/swept_transactor.hpp"

namespace ib::snapshot {
namespace {

constexpr Pkey default_pkey{0xffff};  // IBA 10.9.1.2

/// The end port at `at`, as far as the model knows it.
std::unique_ptr<sys::EndPort> end_port_at(const subnet::Subnet& subnet, subnet::PortIndex at, const sys::Device& device) {
  const smp::PortInfo info = subnet.port(at).info();
  auto port = std::make_unique<sys::EndPort>();
  port->device = &device;
  port->number = subnet.port(at).number;
  port->link_layer = sys::LinkLayer::infiniband;
  port->state = static_cast<unsigned>(info.port_state);
  port->phys_state = static_cast<unsigned>(info.port_physical_state);
  port->lid = subnet.lid(at);
  port->lmc = subnet.lmc(at);
  port->sm_lid = info.master_sm_lid;
  port->sm_sl = info.master_sm_sl;
  port->capability_mask = info.capability_mask;
  const GidPrefix prefix = info.gid_prefix == GidPrefix{} ? link_local_prefix : info.gid_prefix;
  port->gids = std::vector<Gid>{Gid::from(prefix, subnet.end_port_guid(at))};
  port->pkeys = std::vector<Pkey>{default_pkey};
  port->umad = port->smi_umad = port->gsi_umad = "umad0";
  port->smi_port = port->gsi_port = port.get();
  return port;
}

}  // namespace

ImportedFabric::ImportedFabric(std::string file, const formats::FabricFormat& format, Bytes content)
    : StoredFabric(std::move(file)), format_(format) {
  format.read(content, content_);
  if (content_.fabric.subnet.start == subnet::none) throw UsageError("it does not say where it begins");
}

sys::DeviceList ImportedFabric::devices() {
  const subnet::Subnet& subnet = content_.fabric.subnet;
  const subnet::Node& node = subnet.node(subnet.port(subnet.start).node);
  auto device = std::make_unique<sys::Device>();
  device->name = "stored";  // the file has no name for it
  device->node_description = node.description();
  device->node_type = static_cast<unsigned>(node.info.node_type);
  device->node_guid = node.guid();
  device->system_image_guid = node.info.system_image_guid;
  const unsigned end = node.kind() == subnet::NodeKind::sw ? 1 : node.slots;
  for (unsigned number = port_number() == 0 ? 0 : 1; number < end; ++number)
    device->ports.push_back(end_port_at(subnet, node.first_port + number, *device));
  std::vector<std::unique_ptr<sys::Device>> devices;
  devices.push_back(std::move(device));
  return sys::DeviceList(std::move(devices));
}

unsigned ImportedFabric::port_number() { return content_.fabric.subnet.port(content_.fabric.subnet.start).number; }

bool ImportedFabric::has_part(std::string_view name) { return name == snapshot::name(Part::topology); }

subnet::SweptSubnet ImportedFabric::read_fabric(const sys::EndPort*) { return content_.fabric; }

std::optional<StoredAnswer> ImportedFabric::find(const AnswerKey& key) {
  if (key.mgmt_class != mad::mgmt_class::smp || key.selector != 0) return std::nullopt;
  auto content = subnet::swept_content(content_.fabric.subnet, {key.node, key.entry_port}, key.attribute, key.modifier);
  return content ? std::optional(StoredAnswer{answered, std::move(*content), false}) : std::nullopt;
}

}  // namespace ib::snapshot
