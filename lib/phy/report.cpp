// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/report.hpp"

#include <string>
#include <vector>

#include "phy/trouble.hpp"

namespace ib::phy {
namespace {

/// A code of a register with its words; null if it was not read.
template <class Enum>
void symbol(report::Sink& sink, std::string_view key, bool is_known, Enum value) {
  is_known ? sink.symbol(key, static_cast<std::uint64_t>(value), to_text(value)) : sink.no_symbol(key);
}

void numbers(report::Sink& sink, std::string_view key, const std::vector<std::optional<double>>& values) {
  values.empty() ? sink.null(key) : sink.values(key, values);
}

void visit_module(report::Sink& sink, const PortRow& row) {
  if (!row.has_module()) return sink.null("module");
  const Module& module = row.module;
  sink.begin_object("module");
  symbol(sink, "identifier", true, module.identifier);
  sink.text_or_null("vendor", padded_text(module.vendor));
  sink.text_or_null("part_number", padded_text(module.part_number));
  sink.text_or_null("hardware_revision", padded_text(module.revision));
  sink.text_or_null("serial_number", padded_text(module.serial_number));
  sink.text_or_null("module_firmware", module_firmware(row));
  sink.value("length_meters", cable_meters(module.length, module.identifier));
  sink.value("temperature_celsius", module_temperature(row));
  sink.value("voltage_millivolts", module_voltage(row));
  numbers(sink, "rx_power_dbm", rx_power_dbm(row));
  numbers(sink, "tx_power_dbm", tx_power_dbm(row));
  numbers(sink, "bias_milliamperes", bias_milliamperes(row));
  sink.end_object();
}

}  // namespace

void visit(report::Sink& sink, const PortRow& row) {
  symbol(sink, "fec_mode", row.has(Part::operation), row.fec_mode);
  sink.value("raw_ber", raw_ber(row));
  sink.value("effective_ber", effective_ber(row));
  sink.value("symbol_ber", symbol_ber(row));
  sink.value("seconds_since_clear", seconds_since_clear(row));
  const bool has_reason = row.has(Part::link_down), has_trouble = row.has(Part::troubleshooting);
  sink.begin_object("last_down");
  symbol(sink, "down_reason", has_reason, row.down_reason);
  symbol(sink, "initiator", has_reason, row.down_initiator);
  sink.end_object();
  sink.begin_object("trouble");
  has_trouble ? sink.symbol("code", row.trouble, trouble_text(row.trouble)) : sink.no_symbol("code");
  sink.text_or_null("device_text", row.trouble_text);
  sink.text_or_null("remedy", has_trouble ? remedy(row.trouble) : std::string_view());
  sink.end_object();
  visit_module(sink, row);
}

}  // namespace ib::phy
