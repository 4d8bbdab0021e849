// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/columns.hpp"

#include <array>
#include <string>

#include "phy/values.hpp"

namespace ib::phy {
namespace {

using report::cell;
using report::Cell;
using report::Coded;
using report::counter;
using report::gauge;
using report::text_cell;

Cell only_if(bool is_known, Cell value) { return is_known ? std::move(value) : Cell(std::monostate{}); }

template <class Enum>
Cell coded_cell(bool is_known, Enum value) {
  return is_known ? Coded{static_cast<double>(value), std::string(to_text(value))} : Coded{};
}

Cell list_cell(std::vector<std::optional<double>> values) {
  return values.empty() ? report::Numbers() : report::Numbers(std::move(values));
}

template <std::uint64_t PortRow::*value>
Cell count_cell(const PortRow& row) {
  return only_if(row.has(Part::physical), row.*value);
}

Cell raw_errors_cell(const PortRow& row) {
  std::vector<std::optional<double>> values;
  for (std::size_t lane = 0; lane < row.active_lanes && row.has(Part::statistics); ++lane)
    values.emplace_back(static_cast<double>(row.raw_errors.at(lane)));
  return list_cell(std::move(values));
}

Cell trouble_cell(const PortRow& row) {
  if (!row.has(Part::troubleshooting)) return Coded{};
  return Coded{static_cast<double>(row.trouble), std::string(trouble_text(row.trouble))};
}

Cell module_text(const PortRow& row, std::span<const std::uint8_t> text) { return only_if(row.has_module(), text_cell(padded_text(text))); }

/// A limit of the module, in dBm; one that is zero is not given.
Cell power_limit(const PortRow& row, std::uint16_t raw) { return only_if(row.has_module() && raw != 0, cell(module_dbm(raw))); }

constexpr std::array<report::Column<PortRow>, link_columns + module_columns> columns{{
    {{"fec_mode", "FEC", report::state(), false, true}, [](const PortRow& r) { return coded_cell(r.has(Part::operation), r.fec_mode); }},
    {{"raw_ber", "RAW BER", gauge()}, [](const PortRow& r) { return cell(raw_ber(r)); }},
    {{"effective_ber", "EFFECTIVE", gauge()}, [](const PortRow& r) { return cell(effective_ber(r)); }},
    {{"symbol_ber", "SYMBOL", gauge()}, [](const PortRow& r) { return cell(symbol_ber(r)); }},
    {{"seconds_since_clear", "SECONDS", gauge("s")}, [](const PortRow& r) { return cell(seconds_since_clear(r)); }},
    {{"raw_errors_per_lane", "RAW ERRORS", counter()}, raw_errors_cell},
    {{"corrected_blocks", "CORRECTED", counter()}, count_cell<&PortRow::corrected_blocks>},
    {{"uncorrectable_blocks", "UNCORRECTABLE", counter()}, count_cell<&PortRow::uncorrectable_blocks>},
    {{"link_down_events", "DOWN", counter()},
     [](const PortRow& r) { return only_if(r.has(Part::physical), std::uint64_t{r.link_down_events}); }},
    {{"link_recovery_events", "RECOVERED", counter()},
     [](const PortRow& r) { return only_if(r.has(Part::physical), std::uint64_t{r.link_recovery_events}); }},
    {{"last_down.down_reason", "LAST DOWN", {}, false, true},
     [](const PortRow& r) { return coded_cell(r.has(Part::link_down), r.down_reason); }},
    {{"last_down.initiator", "BY", {}, false, true}, [](const PortRow& r) { return coded_cell(r.has(Part::link_down), r.down_initiator); }},
    {{"trouble.code", "TROUBLE", report::state(), false, true}, trouble_cell},
    {{"trouble.number", "CODE", {}, false, false, true},
     [](const PortRow& r) { return only_if(r.has(Part::troubleshooting), std::uint64_t{r.trouble}); }},
    {{"trouble.device_text", "DEVICE SAYS"}, [](const PortRow& r) { return text_cell(std::string(r.trouble_text)); }},
    {{"trouble.remedy", "WHAT TO DO"},
     [](const PortRow& r) { return only_if(r.has(Part::troubleshooting), text_cell(std::string(remedy(r.trouble)))); }},
    {{"module.identifier", "MODULE", {}, false, true}, [](const PortRow& r) { return coded_cell(r.has_module(), r.module.identifier); }},
    {{"module.vendor", "VENDOR"}, [](const PortRow& r) { return module_text(r, r.module.vendor); }},
    {{"module.part_number", "PART"}, [](const PortRow& r) { return module_text(r, r.module.part_number); }},
    {{"module.hardware_revision", "REVISION"}, [](const PortRow& r) { return module_text(r, r.module.revision); }},
    {{"module.serial_number", "SERIAL"}, [](const PortRow& r) { return module_text(r, r.module.serial_number); }},
    {{"module.module_firmware", "FIRMWARE"}, [](const PortRow& r) { return text_cell(module_firmware(r)); }},
    {{"module.length_meters", "METERS"},
     [](const PortRow& r) { return only_if(r.has_module(), cell(cable_meters(r.module.length, r.module.identifier))); }},
    {{"module.temperature_celsius", "C", gauge("C")}, [](const PortRow& r) { return cell(module_temperature(r)); }},
    {{"module.voltage_millivolts", "MV", gauge("mV")}, [](const PortRow& r) { return cell(module_voltage(r)); }},
    {{"module.rx_power_dbm", "RX DBM", gauge("dBm")}, [](const PortRow& r) { return list_cell(rx_power_dbm(r)); }},
    {{"module.tx_power_dbm", "TX DBM", gauge("dBm")}, [](const PortRow& r) { return list_cell(tx_power_dbm(r)); }},
    {{"module.bias_milliamperes", "BIAS MA", gauge("mA")}, [](const PortRow& r) { return list_cell(bias_milliamperes(r)); }},
    {{"module.power_low_alarm_dbm", "LOW DBM"}, [](const PortRow& r) { return power_limit(r, r.module.rx_power_low); }},
    {{"module.power_high_alarm_dbm", "HIGH DBM"}, [](const PortRow& r) { return power_limit(r, r.module.rx_power_high); }},
    {{"module.temperature_alarm_celsius", "ALARM C"},
     [](const PortRow& r) { return only_if(r.has_module(), cell(module_celsius(r.module.temperature_high))); }},
}};

}  // namespace

const report::Column<PortRow>& row_column(std::size_t number) { return columns.at(number); }

void visit(report::Sink& sink, const PortRow& row) {
  report::MemberWriter writer(sink);
  for (const report::Column<PortRow>& column : columns) {
    if (!column.text_only) writer.write(column, column.get(row));
  }
  writer.end();
}

}  // namespace ib::phy
