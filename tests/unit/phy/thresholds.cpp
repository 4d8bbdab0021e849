// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/port_row.hpp"

#include "support/catch.hpp"

namespace phy_thresholds_tests {

using namespace ib;
using namespace ib::phy;

namespace {

std::uint16_t raw(int value) { return static_cast<std::uint16_t>(static_cast<std::int16_t>(value)); }

PortRow row_with(reg::FecMode mode, reg::ModuleType type = reg::ModuleType::passive_copper, std::uint8_t length = 3) {
  PortRow row;
  row.fec_mode = mode;
  row.module.type = type;
  row.module.identifier = reg::ModuleIdentifier::qsfp28;
  row.module.length = length;
  row.module.monitored = 0xff;
  row.set(Part::operation);
  row.set(Part::module);
  return row;
}

}  // namespace

TEST_CASE("limits of bit error ratios go by the FEC mode, and with retransmission by the length of the fibre") {
  using enum reg::FecMode;
  CHECK(ber_limits(row_with(rs_528_514))->effective.error == 1e-12);
  CHECK(ber_limits(row_with(none))->effective.warning == 1e-14);
  CHECK(ber_limits(row_with(quad_rs_544_514))->effective.error == 1e-14);
  CHECK(ber_limits(row_with(ll_rs_271_257_plr))->effective.error == 1e-11);
  CHECK(ber_limits(row_with(ll_rs_271_257_plr))->symbol.error == 1e-14);
  using enum reg::ModuleType;
  CHECK(ber_limits(row_with(ll_rs_271_257_plr, active_cable, 100))->effective.error == 1e-11);
  CHECK(ber_limits(row_with(ll_rs_271_257_plr, optical_module, 101))->effective.error == 1e-14);
  CHECK(ber_limits(row_with(ll_rs_271_257_plr, passive_copper, 101))->effective.error == 1e-11);  // no copper is that long
}

TEST_CASE("there are no limits without a known FEC mode") {
  PortRow unread = row_with(reg::FecMode::none);
  unread.read = 0;
  CHECK_FALSE(ber_limits(unread));
  CHECK_FALSE(ber_limits(row_with(static_cast<reg::FecMode>(19))));
}

TEST_CASE("at NDR 125 minutes prove 1e-15") { CHECK(seconds_to_prove(1e-15, 400e9) == Approx(7500)); }

TEST_CASE("a module is too hot from its own threshold on; without a threshold it is not") {
  PortRow row = row_with(reg::FecMode::none);
  row.module.temperature = raw(70 * 256);
  CHECK_FALSE(temperature_alarm(row));
  row.module.temperature_high = raw(70 * 256);
  REQUIRE(temperature_alarm(row));
  CHECK(temperature_alarm(row)->limit == 70);
  row.module.temperature = raw(70 * 256 - 1);
  CHECK_FALSE(temperature_alarm(row));
  row.module.temperature = raw(70 * 256);
  row.module.monitored = 0;  // it does not measure its temperature
  CHECK_FALSE(temperature_alarm(row));
}

TEST_CASE("received power is beyond a threshold of the module by its worst lane") {
  PortRow row = row_with(reg::FecMode::none, reg::ModuleType::optical_module);
  row.module.rx_power = {raw(1), raw(-12), raw(-15), raw(0)};
  CHECK_FALSE(rx_power_alarm(row));  // no threshold is given
  row.module.rx_power_low = raw(-10);
  row.module.rx_power_high = raw(3);
  REQUIRE(rx_power_alarm(row));
  CHECK(rx_power_alarm(row)->value == -15);
  CHECK(rx_power_alarm(row)->is_low);
  row.module.rx_power = {raw(6), raw(-10), raw(0), raw(-999)};  // no light is not a number
  CHECK(rx_power_alarm(row)->value == 6);
  CHECK_FALSE(rx_power_alarm(row)->is_low);
  row.module.rx_power_high = raw(-20);  // thresholds that exclude each other
  CHECK_FALSE(rx_power_alarm(row));
}

TEST_CASE("sent power is beyond the thresholds for what is sent, not those for what is received") {
  PortRow row = row_with(reg::FecMode::none, reg::ModuleType::optical_module);
  row.module.tx_power = {raw(1), raw(-9), raw(1), raw(1)};
  row.module.rx_power_low = raw(-5);
  CHECK_FALSE(tx_power_alarm(row));
  row.module.tx_power_low = raw(-8);
  row.module.tx_power_high = raw(4);
  REQUIRE(tx_power_alarm(row));
  CHECK(tx_power_alarm(row)->value == -9);
  CHECK(tx_power_alarm(row)->limit == -8);
  row.module.tx_power = {raw(1), raw(5), raw(1), raw(1)};
  CHECK_FALSE(tx_power_alarm(row)->is_low);
  row.module.monitored = 0;
  CHECK_FALSE(tx_power_alarm(row));
}

TEST_CASE("attenuation is from the average sender to the weakest receiver") {
  PortRow from = row_with(reg::FecMode::none, reg::ModuleType::optical_module), to = row_with(reg::FecMode::none);
  CHECK_FALSE(attenuation(from, to));
  from.module.tx_power = {raw(2), raw(1), raw(2), raw(3)};
  to.module.rx_power = {raw(-1), raw(-8), raw(-2), raw(-1)};
  REQUIRE(attenuation(from, to));
  CHECK(*attenuation(from, to) == Approx(10));
  CHECK_FALSE(attenuation(to, from));
}

TEST_CASE("the ratio of a weak lane is many times the ratio of every other lane, and above the limit") {
  PortRow row;
  row.lane_ber = {BitErrorRatio{1, 9}, {2, 9}, {3, 8}, {1, 9}};
  CHECK_FALSE(weak_lane(row, 10, 1e-8));  // not read
  row.set(Part::statistics);
  REQUIRE(weak_lane(row, 10, 1e-8));
  CHECK(weak_lane(row, 10, 1e-8)->lane == 2);
  CHECK(weak_lane(row, 10, 1e-8)->others == Approx(2e-9));
  CHECK_FALSE(weak_lane(row, 16, 1e-8));
  CHECK_FALSE(weak_lane(row, 10, 1e-7));
  row.lane_ber[1] = {3, 8};  // two lanes are as bad
  CHECK_FALSE(weak_lane(row, 10, 1e-8));
  row.lane_ber[1] = {};  // a lane that is not known
  CHECK_FALSE(weak_lane(row, 10, 1e-8));
  row.lane_ber[1] = {15, 254};  // a lane without errors
  CHECK(weak_lane(row, 10, 1e-8));
  row.active_lanes = 1;
  CHECK_FALSE(weak_lane(row, 10, 1e-8));
}

}  // namespace phy_thresholds_tests
