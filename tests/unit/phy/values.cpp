// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include "iba-gen/reg.hpp"
#include "phy/port_row.hpp"
#include "phy/reading.hpp"
#include "support/catch.hpp"

namespace phy_values_tests {

using namespace ib;
using namespace ib::phy;

namespace {

std::uint16_t raw(int value) { return static_cast<std::uint16_t>(static_cast<std::int16_t>(value)); }

}  // namespace

TEST_CASE("a bit error ratio is coefficient times ten to the minus magnitude; magnitudes that mean no error are 0") {
  CHECK(ratio({5, 9}) == Approx(5e-9));
  CHECK(ratio({3, 5}) == 3e-05);
  CHECK(ratio({15, 254}) == 0.0);
  CHECK(ratio({15, 255}) == 0.0);
  CHECK(ratio({1, 40}) == Approx(1e-40));
  CHECK_FALSE(ratio({1, 41}));
  CHECK_FALSE(ratio({15, 100}));
  CHECK_FALSE(ratio({0, 0}));
  CHECK(ratio({3, 0}) == Approx(3));
}

TEST_CASE("impossible values of a module or sensor are not known") {
  CHECK(module_celsius(raw(45 * 256 + 128)) == Approx(45.5));
  CHECK(module_celsius(raw(-10 * 256)) == Approx(-10));
  CHECK_FALSE(module_celsius(raw(127 * 256 + 256 * 4 - 1)));
  CHECK_FALSE(module_celsius(0));
  CHECK_FALSE(module_celsius(0x8000));
  CHECK(sensor_celsius(47 * 8) == Approx(47));
  CHECK(sensor_celsius(raw(-5)) == Approx(-0.625));
  CHECK_FALSE(sensor_celsius(200 * 8));
  CHECK(module_millivolts(33000) == Approx(3300));
  CHECK_FALSE(module_millivolts(0));
  CHECK_FALSE(module_millivolts(0xffff));
  CHECK(module_dbm(raw(-40)) == Approx(-40));
  CHECK(module_dbm(2) == Approx(2));
  CHECK_FALSE(module_dbm(raw(-999)));
  CHECK_FALSE(module_dbm(1200));
  CHECK(bias_milliamperes(3500, reg::BiasScale::one) == Approx(7));
  CHECK(bias_milliamperes(3500, reg::BiasScale::four) == Approx(28));
  CHECK_FALSE(bias_milliamperes(0xffff, reg::BiasScale::four));
  CHECK_FALSE(bias_milliamperes(1, static_cast<reg::BiasScale>(3)));
  CHECK(fan_rpm(0) == 0U);
  CHECK(fan_rpm(9000) == 9000U);
  CHECK_FALSE(fan_rpm(0xffff));
  CHECK_FALSE(module_celsius(0xffff));  // -0.004 C, and all ones
  CHECK_FALSE(sensor_celsius(0xffff));
}

TEST_CASE("impossible values are listed with their bytes; values not measured or not read are not listed") {
  PortRow row;
  row.module.type = reg::ModuleType::optical_module;
  row.module.temperature = 0x8000;
  row.module.voltage = 1;
  row.module.vendor.fill(0xff);
  row.symbol_ber = {1, 99};
  row.effective_ber = {15, 254};
  CHECK(impossible_values(row).empty());
  row.set(Part::module);
  row.set(Part::statistics);
  row.module.monitored = reg::monitor_capabilities::temperature;
  const auto found = impossible_values(row);
  REQUIRE(found.size() == 3);
  CHECK(found[0].key == "symbol_ber");
  CHECK(found[0].bytes == "coefficient 0x01, magnitude 0x63");
  CHECK(found[1].key == "module.vendor");
  CHECK(found[1].bytes == "0xffffffffffffffffffffffffffffffff");
  CHECK(found[1].why == "all ones");
  CHECK(found[2].key == "module.temperature_celsius");
  CHECK(found[2].bytes == "0x8000");
  CHECK(found[2].why == "not from -50 to 130 C (SFF-8472, CMIS: the range of modules is at most -40 to 125 C)");
  EnvironmentRow device;
  device.sensors = {{3, "", {}, 40, {}, 200 * 8, 40 * 8, 0}};
  device.fans = {{1, {}, {}, 0xffff}, {2, {}, {}, 0}};
  const auto of_device = impossible_values(device);
  REQUIRE(of_device.size() == 2);
  CHECK(of_device[0].key == "sensor 3: temperature_celsius");
  CHECK(of_device[0].bytes == "0x0640");
  CHECK(of_device[1].key == "fan 1: rpm");
}

TEST_CASE("a cable's length is in metres, with CMIS times a power of ten") {
  CHECK(cable_meters(23, reg::ModuleIdentifier::osfp) == 2.3);  // as it is printed: 23 times 0.1 is another number
  CHECK(cable_meters(3, reg::ModuleIdentifier::qsfp28) == Approx(3));
  CHECK_FALSE(cable_meters(0, reg::ModuleIdentifier::qsfp28));
  CHECK_FALSE(cable_meters(255, reg::ModuleIdentifier::qsfp28));
  CHECK(cable_meters(5, reg::ModuleIdentifier::osfp) == Approx(0.5));
  CHECK(cable_meters(0x40 | 3, reg::ModuleIdentifier::osfp) == Approx(3));
  CHECK(cable_meters(0x80 | 50, reg::ModuleIdentifier::osfp) == Approx(500));
  CHECK(cable_meters(0xc0 | 20, reg::ModuleIdentifier::osfp) == Approx(2000));
  CHECK_FALSE(cable_meters(0x80, reg::ModuleIdentifier::osfp));
}

TEST_CASE("a padded text ends at a zero and has no blanks at its end; all ones are none") {
  const auto text = [](std::string_view bytes) { return padded_text({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}); };
  CHECK(text("Mellanox        ") == "Mellanox");
  CHECK(text(std::string_view("A3\0\0", 4)) == "A3");
  CHECK(text("0123456789abcdef") == "0123456789abcdef");
  CHECK(text("\xff\xff\xff\xff").empty());
  CHECK(text("    ").empty());
  CHECK(text("").empty());
  CHECK(text("a b  ") == "a b");
}

TEST_CASE("a module has the values of the lanes in use, if it measures them") {
  PortRow row;
  CHECK_FALSE(row.has_module());
  reg::PddrModule page;
  take(row, page);
  CHECK_FALSE(row.has_module());  // all zero: an empty cage
  page.cable_type = reg::ModuleType::active_cable;
  page.rx_power = {1, raw(-3), raw(-40), raw(-999), 5, 6, 7, 8};
  take(row, page);
  CHECK(row.has_module());
  CHECK(rx_power_dbm(row).empty());  // not monitored
  page.monitor_cap_mask = reg::monitor_capabilities::rx_power | reg::monitor_capabilities::tx_power;
  take(row, page);
  const std::vector<std::optional<double>> four{1.0, -3.0, -40.0, std::nullopt};
  CHECK(rx_power_dbm(row) == four);
  CHECK(tx_power_dbm(row).empty());  // zero on all lanes
  reg::PddrOperation operation;
  operation.link_width_active = 1;
  take(row, operation);
  CHECK(rx_power_dbm(row).size() == 1);
  operation.link_width_active = 0xffff;
  take(row, operation);
  CHECK(rx_power_dbm(row).size() == lanes);
  page.cable_type = reg::ModuleType::unplugged;
  take(row, page);
  CHECK_FALSE(row.has_module());
}

TEST_CASE("a histogram has as many bins as both registers have") {
  PortRow row;
  reg::PpcntFecHistogram counts;
  counts.hist[0] = 100;
  counts.hist[1] = 7;
  take(row, counts);
  CHECK_FALSE(row.histogram);
  reg::Pphcr bins;
  bins.num_of_bins = 255;
  bins.bin_range[1].low_val = 1;
  bins.bin_range[1].high_val = 2;
  take(row, bins);
  take(row, counts);
  REQUIRE(row.histogram);
  CHECK(row.histogram->size() == bins.bin_range.size());
  CHECK(row.histogram->at(1).low == 1);
  CHECK(row.histogram->at(1).count == 7);
}

TEST_CASE("codes of trouble have words and a remedy, also those known by their group only") {
  CHECK(trouble_text(1024) == "cable unplugged");
  CHECK(trouble_text(49) == "bad signal integrity");
  CHECK(trouble_text(1050) == "the module does not start");
  CHECK(trouble_text(30) == "cable and port do not match");
  CHECK(trouble_text(9999).empty());
  CHECK(remedy(9999).empty());
  CHECK_FALSE(remedy(1029).empty());
  CHECK(is_trouble(15));
  CHECK_FALSE(is_trouble(0));
  CHECK_FALSE(is_trouble(1023));
}

}  // namespace phy_values_tests
