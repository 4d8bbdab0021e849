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
using report::gauge;
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
      {{"uptime_seconds", "UPTIME S", gauge("s"), true},
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

constexpr std::array<Column<VersionLine>, 7> version_columns{{
    {{"device_id", "DEVICE", {}, true}, [](const VersionLine& l) { return Cell(std::uint64_t{l.device_id}); }},
    {{"psid", "PSID", {}, true}, [](const VersionLine& l) { return text_cell(l.psid); }},
    {{"firmware", "FIRMWARE", {}, true}, [](const VersionLine& l) { return text_cell(l.firmware); }},
    {{"node_count", "NODES", gauge(), true}, [](const VersionLine& l) { return Cell(l.nodes); }},
    {{"is_odd", "ODD"}, [](const VersionLine& l) { return Cell(l.is_odd); }},
    {{"odd", "ODD", {}, true, false, true}, [](const VersionLine& l) { return Cell(std::string(l.is_odd ? "odd" : "")); }},
    {{"first_node", "FIRST NODE", {}, true}, [](const VersionLine& l) { return text_cell(l.first); }},
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

class FirmwareCommand final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("TARGETs are nodes, or patterns of their names; without them all nodes are read.");
    set.flag("--nodes", by_node_, "A row for each node instead of one for each type of device and version.");
    std::vector<std::string> keys = keys_of(version_columns);
    for (const std::string& key : keys_of(device_columns())) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
    add_options(set, common, std::move(keys));
  }

  std::string_view table_rows() const override { return is_by_node() ? "nodes" : "versions"; }

 protected:
  void prepare(const Host& host) override {
    shown_.refuse_for_json(host.options().format, "nodes or versions", "both");
    is_by_node() ? check_table(device_columns()) : check_table<VersionLine>(version_columns);
    wanted_.registers = phy::Wanted::nothing;
    wanted_.wants = [](const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info && subnet.lid(port) != Lid{}; };
  }

  void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) override {
    std::vector<DeviceLine> devices;
    for (const phy::DeviceRow& row : found.devices) {
      if (row.firmware) devices.push_back({&fabric, &row});
    }
    std::vector<VersionLine> versions = versions_of(devices);
    if (is_document(host.options().format)) {
      emit(DocumentReport<DeviceLine, VersionLine>(fabric, {"nodes", report::Table<DeviceLine>(device_columns()), std::move(devices)},
                                                   {"versions", report::Table<VersionLine>(version_columns), std::move(versions)}));
    } else if (is_by_node()) {
      emit_table(host, emit, fabric, "nodes", device_columns(), std::move(devices));
    } else {
      emit_table<VersionLine>(host, emit, fabric, "versions", version_columns, std::move(versions));
    }
  }

 private:
  bool is_by_node() const { return by_node_ || !wanted_.targets.empty(); }

  bool by_node_{};
};

}  // namespace

constinit const CommandInfo rooms::firmware{
    .name = "firmware",
    .group = HelpGroup::topology,
    .summary = "Print the firmware versions of devices by type and PSID, with odd ones marked.",
    .make = make_command<FirmwareCommand>,
};

}  // namespace ib::tools
