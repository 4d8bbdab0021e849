// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// firmware: which firmware runs on which type of device, by one Get a device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::Column;
using report::text_cell;
using subnet::PortIndex;

/// A device.
struct DeviceLine {
  const Fabric* fabric;
  const phy::DeviceRow* row;
};

std::vector<Column<DeviceLine>> make_device_columns() {
  return {
      {{"node_guid", "GUID", {}, true}, [](const DeviceLine& l) { return node_guid_cell(*l.fabric, l.row->node); }},
      {{"node_description", "NODE", {}, true}, [](const DeviceLine& l) { return node_name_cell(*l.fabric, l.row->node); }},
      {{"device_id", "DEVICE", {}, true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.fabric->subnet.node(l.row->node).info.device_id}); }},
      {{"psid", "PSID", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->psid); }},
      {{"firmware", "FIRMWARE", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->version); }},
      {{"uptime_seconds", "UPTIME S", report::gauge("s"), true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.row->firmware->uptime_seconds}); }},
  };
}

std::span<const Column<DeviceLine>> device_columns() {
  static const std::vector<Column<DeviceLine>> columns = make_device_columns();
  return columns;
}

/// The devices of one type, PSID and firmware.
struct VersionLine {
  std::uint16_t device_id{};
  std::string psid, firmware, first;  ///< `first`: a node with it
  std::uint64_t nodes{};
  bool is_odd{};  ///< more devices of this type and PSID run another version
};

constexpr std::array<Column<VersionLine>, 6> version_columns{{
    {{"device_id", "DEVICE", {}, true}, [](const VersionLine& l) { return Cell(std::uint64_t{l.device_id}); }},
    {{"psid", "PSID", {}, true}, [](const VersionLine& l) { return text_cell(l.psid); }},
    {{"firmware", "FIRMWARE", {}, true}, [](const VersionLine& l) { return text_cell(l.firmware); }},
    {{"nodes", "NODES", {}, true}, [](const VersionLine& l) { return Cell(l.nodes); }},
    {{"odd", "ODD", {}, true}, [](const VersionLine& l) { return l.is_odd ? Cell(std::string("odd")) : text_cell(" "); }},
    {{"first", "FIRST NODE", {}, true}, [](const VersionLine& l) { return text_cell(l.first); }},
}};

std::vector<VersionLine> versions_of(const std::vector<DeviceLine>& devices) {
  std::map<std::tuple<std::uint16_t, std::string, std::string>, VersionLine> by_version;
  std::map<std::tuple<std::uint16_t, std::string>, std::uint64_t> most;
  for (const DeviceLine& device : devices) {
    const subnet::Node& node = device.fabric->subnet.node(device.row->node);
    const phy::Firmware& firmware = *device.row->firmware;
    VersionLine& line = by_version[{node.info.device_id, firmware.psid, firmware.version}];
    if (++line.nodes == 1) {
      const Cell name = node_name_cell(*device.fabric, device.row->node);
      const auto* known = std::get_if<std::string>(&name);
      line.device_id = node.info.device_id;
      line.psid = firmware.psid;
      line.firmware = firmware.version;
      line.first = known != nullptr ? *known : "";
    }
    std::uint64_t& greatest = most[{node.info.device_id, firmware.psid}];
    greatest = std::max(greatest, line.nodes);
  }
  std::vector<VersionLine> lines;
  for (auto& [key, line] : by_version) {
    line.is_odd = line.nodes < most[{line.device_id, line.psid}];
    lines.push_back(std::move(line));
  }
  return lines;
}

struct FirmwareReport final : FabricReport {
  FirmwareReport(const Fabric& of, std::vector<DeviceLine> rows, bool each_node)
      : FabricReport(of), devices(std::move(rows)), by_node(each_node) {}

  void visit(report::Sink& sink) const override {
    report::Table<DeviceLine>(device_columns()).visit(sink, "nodes", devices);
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    out.write(by_node ? report::Table<DeviceLine>(device_columns()).text(devices)
                      : report::Table<VersionLine>(version_columns).text(versions_of(devices)));
  }

  std::vector<DeviceLine> devices;
  bool by_node;
};

class FirmwareCommand final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_phy_options(set, wanted_);
    set.notes("TARGET is one node; without it all nodes are read.");
    set.flag("--nodes", by_node_, "A line for each node instead of one for each type of device and version.");
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return "nodes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    wanted_.registers = phy::Wanted::nothing;
    wanted_.wants = [](const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info && subnet.lid(port) != Lid{}; };
    Fabric fabric;
    const phy::Reading found = co_await fetch_phy(session, wanted_, fabric);
    std::vector<DeviceLine> devices;
    for (const phy::DeviceRow& row : found.devices) {
      if (row.firmware) devices.push_back({&fabric, &row});
    }
    emit(FirmwareReport(fabric, std::move(devices), by_node_ || wanted_.target.given()));
  }

 private:
  PhyWanted wanted_;
  bool by_node_{};
};

}  // namespace

constinit const CommandInfo rooms::firmware{
    .name = "firmware",
    .group = HelpGroup::topology,
    .summary = "Print the firmware versions of devices by type and PSID, with odd ones marked.",
    .make = make_command<FirmwareCommand>,
    .needs_fabric = true,
};

}  // namespace ib::tools
