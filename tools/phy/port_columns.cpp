// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/port_columns.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "phy/trouble.hpp"
#include "subnet/rate.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::cell;
using report::Cell;
using report::Coded;
using report::Column;
using report::ColumnInfo;
using report::counter;
using report::gauge;
using report::text_cell;
using subnet::PortIndex;

const subnet::Port& port_of(const PhyLine& line) { return line.fabric->subnet.port(line.row->port); }

/// A cell of the port at the other end of the link.
template <class Get>
Cell at_peer(const PhyLine& line, Get get) {
  const PortIndex peer = port_of(line).peer;
  return peer == subnet::none ? Cell(std::monostate{}) : get(*line.fabric, peer);
}

template <class Enum>
Cell coded(bool is_known, Enum value) {
  return is_known ? Coded{static_cast<double>(value), std::string(to_text(value))} : Coded{};
}

Cell counter_cell(const PhyLine& line, phy::Part part, std::uint64_t value) {
  return line.row->has(part) ? Cell(value) : Cell(std::monostate{});
}

Cell numbers(std::vector<std::optional<double>> values) { return values.empty() ? report::Numbers() : report::Numbers(std::move(values)); }

Cell raw_errors(const PhyLine& line) {
  std::vector<std::optional<double>> values;
  if (!line.row->has(phy::Part::statistics)) return numbers({});
  for (std::size_t lane = 0; lane < line.row->active_lanes; ++lane) values.emplace_back(static_cast<double>(line.row->raw_errors.at(lane)));
  return numbers(std::move(values));
}

Cell speed(const PhyLine& line) {
  const subnet::Speed active = subnet::active_rate(line.fabric->subnet, line.row->port).speed;
  if (!port_of(line).is_link_up() || active == subnet::Speed::unknown) return Coded{};
  return Coded{subnet::lane_mbps(active), std::string(subnet::name(active))};
}

Cell trouble(const PhyLine& line) {
  if (!line.row->has(phy::Part::troubleshooting)) return Coded{};
  return Coded{static_cast<double>(line.row->trouble), std::string(phy::trouble_text(line.row->trouble))};
}

Cell module_text(const PhyLine& line, std::span<const std::uint8_t> text) {
  return line.row->has_module() ? text_cell(phy::padded_text(text)) : Cell(std::monostate{});
}

/// A limit of the module, in dBm; one that is zero is not given.
Cell limit(const PhyLine& line, std::uint16_t raw) {
  return line.row->has_module() && raw != 0 ? cell(phy::module_dbm(raw)) : Cell(std::monostate{});
}

std::vector<Column<PhyLine>> make_columns(std::initializer_list<std::string_view> usual) {
  std::vector<Column<PhyLine>> columns{
      {{"node_guid", "GUID"}, [](const PhyLine& l) { return node_guid_cell(*l.fabric, port_of(l).node); }},
      {{"node_description", "NODE"}, [](const PhyLine& l) { return node_name_cell(*l.fabric, port_of(l).node); }},
      {{"lid", "LID"},
       [](const PhyLine& l) {
         const Lid lid = l.fabric->subnet.lid(l.row->port);
         return lid == Lid{} ? Cell(std::monostate{}) : Cell(std::uint64_t{lid.value});
       }},
      {{"port_num", "PORT"}, [](const PhyLine& l) { return Cell(std::uint64_t{port_of(l).number}); }},
      {{"port_label", "LABEL"}, [](const PhyLine& l) { return port_label_cell(*l.fabric, l.row->port); }},
      {{"peer.node_guid", "PEER GUID"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return node_guid_cell(f, f.subnet.port(at).node); });
       }},
      {{"peer.node_description", "PEER"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return node_name_cell(f, f.subnet.port(at).node); });
       }},
      {{"peer.port_num", "PORT"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return Cell(std::uint64_t{f.subnet.port(at).number}); });
       }},
      {{"state", "STATE", report::state(), false, true}, [](const PhyLine& l) { return coded(port_of(l).has_info, port_of(l).state()); }},
      {{"phys_state", "PHYSICAL", report::state(), false, true},
       [](const PhyLine& l) { return coded(port_of(l).has_info, port_of(l).physical_state()); }},
      {{"speed", "SPEED", gauge("Mb/s of a lane"), false, true}, speed},
      {{"fec_mode", "FEC", report::state(), false, true},
       [](const PhyLine& l) { return coded(l.row->has(phy::Part::operation), l.row->fec_mode); }},
      {{"raw_ber", "RAW BER", gauge()}, [](const PhyLine& l) { return cell(phy::raw_ber(*l.row)); }},
      {{"effective_ber", "EFFECTIVE", gauge()}, [](const PhyLine& l) { return cell(phy::effective_ber(*l.row)); }},
      {{"symbol_ber", "SYMBOL", gauge()}, [](const PhyLine& l) { return cell(phy::symbol_ber(*l.row)); }},
      {{"seconds_since_clear", "SECONDS", gauge("s")}, [](const PhyLine& l) { return cell(phy::seconds_since_clear(*l.row)); }},
      {{"raw_errors_per_lane", "RAW ERRORS", counter()}, raw_errors},
      {{"corrected_blocks", "CORRECTED", counter()},
       [](const PhyLine& l) { return counter_cell(l, phy::Part::physical, l.row->corrected_blocks); }},
      {{"uncorrectable_blocks", "UNCORRECTABLE", counter()},
       [](const PhyLine& l) { return counter_cell(l, phy::Part::physical, l.row->uncorrectable_blocks); }},
      {{"link_down_events", "DOWN", counter()},
       [](const PhyLine& l) { return counter_cell(l, phy::Part::physical, l.row->link_down_events); }},
      {{"link_recovery_events", "RECOVERED", counter()},
       [](const PhyLine& l) { return counter_cell(l, phy::Part::physical, l.row->link_recovery_events); }},
      {{"last_down.down_reason", "LAST DOWN", {}, false, true},
       [](const PhyLine& l) { return coded(l.row->has(phy::Part::link_down), l.row->down_reason); }},
      {{"last_down.initiator", "BY", {}, false, true},
       [](const PhyLine& l) { return coded(l.row->has(phy::Part::link_down), l.row->down_initiator); }},
      {{"trouble.code", "TROUBLE", report::state(), false, true}, trouble},
      {{"trouble.device_text", "DEVICE SAYS"}, [](const PhyLine& l) { return text_cell(l.row->trouble_text); }},
      {{"trouble.remedy", "WHAT TO DO"},
       [](const PhyLine& l) {
         return l.row->has(phy::Part::troubleshooting) ? text_cell(std::string(phy::remedy(l.row->trouble))) : Cell(std::monostate{});
       }},
      {{"module.identifier", "MODULE", {}, false, true},
       [](const PhyLine& l) { return coded(l.row->has_module(), l.row->module.identifier); }},
      {{"module.vendor", "VENDOR"}, [](const PhyLine& l) { return module_text(l, l.row->module.vendor); }},
      {{"module.part_number", "PART"}, [](const PhyLine& l) { return module_text(l, l.row->module.part_number); }},
      {{"module.hardware_revision", "REVISION"}, [](const PhyLine& l) { return module_text(l, l.row->module.revision); }},
      {{"module.serial_number", "SERIAL"}, [](const PhyLine& l) { return module_text(l, l.row->module.serial_number); }},
      {{"module.module_firmware", "FIRMWARE"}, [](const PhyLine& l) { return text_cell(phy::module_firmware(*l.row)); }},
      {{"module.length_meters", "METERS"},
       [](const PhyLine& l) {
         return l.row->has_module() ? cell(phy::cable_meters(l.row->module.length, l.row->module.identifier)) : Cell(std::monostate{});
       }},
      {{"module.temperature_celsius", "C", gauge("C")}, [](const PhyLine& l) { return cell(phy::module_temperature(*l.row)); }},
      {{"module.voltage_millivolts", "MV", gauge("mV")}, [](const PhyLine& l) { return cell(phy::module_voltage(*l.row)); }},
      {{"module.rx_power_dbm", "RX DBM", gauge("dBm")}, [](const PhyLine& l) { return numbers(phy::rx_power_dbm(*l.row)); }},
      {{"module.tx_power_dbm", "TX DBM", gauge("dBm")}, [](const PhyLine& l) { return numbers(phy::tx_power_dbm(*l.row)); }},
      {{"module.bias_milliamperes", "BIAS MA", gauge("mA")}, [](const PhyLine& l) { return numbers(phy::bias_milliamperes(*l.row)); }},
      {{"module.power_low_alarm_dbm", "LOW DBM"}, [](const PhyLine& l) { return limit(l, l.row->module.rx_power_low); }},
      {{"module.power_high_alarm_dbm", "HIGH DBM"}, [](const PhyLine& l) { return limit(l, l.row->module.rx_power_high); }},
      {{"module.temperature_alarm_celsius", "ALARM C"},
       [](const PhyLine& l) {
         return l.row->has_module() ? cell(phy::module_celsius(l.row->module.temperature_high)) : Cell(std::monostate{});
       }},
  };
  for (Column<PhyLine>& column : columns) column.usual = std::ranges::find(usual, column.key) != usual.end();
  return columns;
}

}  // namespace

std::span<const Column<PhyLine>> link_columns() {
  static const std::vector<Column<PhyLine>> columns = make_columns(
      {"node_description", "port_num", "peer.node_description", "peer.port_num", "speed", "fec_mode", "raw_ber", "effective_ber"});
  return columns;
}

std::span<const Column<PhyLine>> down_columns() {
  static const std::vector<Column<PhyLine>> columns = make_columns(
      {"node_description", "port_num", "phys_state", "trouble.code", "last_down.down_reason", "module.serial_number", "trouble.remedy"});
  return columns;
}

}  // namespace ib::tools
