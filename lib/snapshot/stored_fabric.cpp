// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "formats/topology_text.hpp"
#include "iba-gen/mad.hpp"
#include "snapshot/format.hpp"
#include "snapshot/parts.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/sweep/swept_transactor.hpp"

namespace ib::snapshot {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 29U;  // five times the listing of 49,151 nodes; 2,000,000 ports of a cache: 200 MB

std::string read_file(const std::string& file) {
  try {
    return read_regular_file(file, largest_file);
  } catch (const SysError& error) {
    throw UsageError(error.message());
  }
}

/// A kind of file in which another program keeps a fabric.
///
/// To add a kind: a room of formats/ that fills a model, and a row of `kinds`. A kind that holds more than the model, as the counters and
/// tables in ibdiagnet's db_csv, gets a member in ImportedFabric for these, which answers requests from it.
struct FabricFormat {
  std::string_view name;  ///< as in "FILE is …": "topology text"
  /// Whether a file of this content is of this kind, by its beginning.
  bool (*is_one)(Bytes content);
  /// Fills `into`, which is empty, and sets `netdisc` for a cache of libibnetdisc. Throws UsageError with a sentence.
  void (*read)(Bytes content, subnet::Subnet& into, std::shared_ptr<const formats::NetdiscCache>& netdisc);
};

/// In the order in which a file is compared with them.
constexpr std::array kinds{
    FabricFormat{"a cache of libibnetdisc", formats::is_netdisc_cache,
                 [](Bytes content, subnet::Subnet& into, std::shared_ptr<const formats::NetdiscCache>& netdisc) {
                   netdisc = std::make_shared<formats::NetdiscCache>(formats::read_netdisc_cache(content));
                   fill_subnet(*netdisc, into);
                 }},
    FabricFormat{"topology text", [](Bytes content) { return formats::is_topology_text(as_text(content)); },
                 [](Bytes content, subnet::Subnet& into, std::shared_ptr<const formats::NetdiscCache>&) {
                   formats::read_topology_text(as_text(content), into);
                 }},
};

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
  port->umad = "umad0";
  port->smi_port = port->gsi_port = port.get();
  return port;
}

/// A fabric in memory, which was read from a file of another program.
class ImportedFabric final : public StoredFabric {
 public:
  /// Throws UsageError with a sentence.
  ImportedFabric(std::string file, const FabricFormat& format, Bytes content) : StoredFabric(std::move(file)), format_(format) {
    format.read(content, fabric_.subnet, netdisc_);
    if (fabric_.subnet.start == subnet::none) throw UsageError("it does not say where it begins");
  }

  std::string_view format() const override { return format_.name; }
  sys::DeviceList devices() override {
    const subnet::Subnet& subnet = fabric_.subnet;
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
  unsigned port_number() override { return fabric_.subnet.port(fabric_.subnet.start).number; }
  bool has_part(std::string_view name) override { return name == snapshot::name(Part::topology); }
  subnet::SweptSubnet read_fabric(const sys::EndPort*) override { return fabric_; }
  subnet::SweptSubnet take_fabric(const sys::EndPort*) override { return std::move(fabric_); }
  std::shared_ptr<const formats::NetdiscCache> netdisc() const override { return netdisc_; }
  std::optional<StoredAnswer> find(const AnswerKey& key) override {
    if (key.mgmt_class != mad::mgmt_class::smp || key.selector != 0) return std::nullopt;
    auto content = subnet::swept_content(fabric_.subnet, {key.node, key.entry_port}, key.attribute, key.modifier);
    return content ? std::optional(StoredAnswer{answered, std::move(*content), false}) : std::nullopt;
  }

 private:
  const FabricFormat& format_;
  subnet::SweptSubnet fabric_;
  std::shared_ptr<const formats::NetdiscCache> netdisc_;
};

/// "a snapshot of ibtool, a cache of libibnetdisc or topology text"
std::string all_kinds() {
  std::string all = "a snapshot of ibtool";
  for (const auto& kind : kinds) all.append(&kind == &kinds.back() ? " or " : ", ").append(kind.name);
  return all;
}

}  // namespace

const sys::EndPort& StoredFabric::end_port() {
  if (!devices_) devices_ = devices();
  return devices_->select({}, std::to_string(port_number()));
}

std::string StoredFabric::lack(std::string_view what) const {
  if (format().empty()) return fmt::format("The snapshot {} has no {}", in_quotes(file_), what);
  return fmt::format("{} is {}: it has no {}", in_quotes(file_), format(), what);
}

std::string StoredFabric::remedy(std::string_view name, std::string_view they) const {
  const std::optional<Part> part = find_part(name);
  if (format().empty() && part && !is_usual(*part)) return fmt::format(": take one with --also {}", name);
  if (format().empty()) return fmt::format(": take one without --skip {0} (or with --only {0})", name);
  return fmt::format("; `ibtool snapshot` keeps {}", they);
}

std::string StoredFabric::why_without(std::string_view name, std::string_view what) {
  return has_part(name) ? std::string() : lack(what) + remedy(name, "them");
}

std::unique_ptr<StoredFabric> open_fabric(const std::string& file) {
  if (is_snapshot_file(file)) return std::make_unique<Snapshot>(file);
  return imported_fabric(file, as_bytes(read_file(file)));
}

std::unique_ptr<StoredFabric> imported_fabric(const std::string& file, Bytes content) {
  const auto format = std::ranges::find_if(kinds, [content](const FabricFormat& one) { return one.is_one(content); });
  if (format == kinds.end()) throw UsageError(fmt::format("{} holds no fabric: it is not {}", in_quotes(file), all_kinds()));
  try {
    return std::make_unique<ImportedFabric>(file, *format, content);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} cannot be read as {}: {}", in_quotes(file), format->name, error.message()));
  }
}

}  // namespace ib::snapshot
