// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What registers say of links, modules and devices.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "health/diagnosis.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_physical_tests {

using namespace ib;
using namespace ib::health;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;
using phy::Part;

namespace {

constexpr double hour = 3600;

/// A fabric whose links all were read: LL FEC with retransmission, copper, no error in an hour.
struct Patched : Patient {
  phy::Reading reading, before;

  Patched() {
    make_edr();
    sweep();
    for (const auto source : sources_of_phy) input->source(source) = {};
    for (subnet::PortIndex at = 0; at < swept->subnet.ports().size(); ++at) {
      if (swept->subnet.port(at).peer == subnet::none) continue;
      add(at);
    }
  }
  phy::PortRow& add(subnet::PortIndex at) {
    input->phy_ports.push_back(at);
    phy::PortRow& row = reading.ports.emplace_back();
    row.port = at;
    row.fec_mode = reg::FecMode::ll_rs_271_257_plr;
    row.raw_ber = {1, 10};
    row.effective_ber = row.symbol_ber = {15, 254};
    row.milliseconds_since_clear = static_cast<std::uint64_t>(hour) * 1000;
    row.module.type = reg::ModuleType::passive_copper;
    row.module.monitored = 0xff;
    set_text(row.module.part_number, "PN-1");
    for (const Part part : {Part::operation, Part::troubleshooting, Part::module, Part::link_down, Part::physical, Part::statistics})
      row.set(part);
    return row;
  }
  template <std::size_t n>
  static void set_text(std::array<std::uint8_t, n>& to, std::string_view text) {
    to.fill(0);
    std::ranges::copy(text, to.begin());
  }
  phy::PortRow& row(FakeFabric::NodeId node, unsigned number) {
    return *std::ranges::find(reading.ports, port(node, number), &phy::PortRow::port);
  }
  subnet::NodeIndex node(FakeFabric::NodeId id) { return swept->subnet.find_node(fabric.node(id).info.node_guid); }
  Diagnosis look() {
    input->phy = {std::make_shared<const phy::Reading>(std::move(reading)), swept->subnet};
    if (!before.ports.empty()) input->phy_before = {std::make_shared<const phy::Reading>(std::move(before)), swept->subnet};
    return examine();
  }
};

CheckResult result_of(const Diagnosis& diagnosis, std::string_view id) {
  return *std::ranges::find(diagnosis.checks, find_check(id), &CheckResult::check);
}

}  // namespace

TEST_CASE("a good physical layer has no finding; without --phy its checks are skipped") {
  Patched good;
  CHECK(good.look().findings.empty());
  Patient without;
  without.sweep();
  const Diagnosis diagnosis = without.examine();
  for (const char* id : {"ber-effective", "module-power", "temperature", "fan", "port-unhealthy", "firmware-mixed"}) {
    CHECK(result_of(diagnosis, id).state == CheckState::skipped);
    CHECK(result_of(diagnosis, id).reason == "needs --phy");
  }
}

TEST_CASE("ber-effective and ber-symbol: a ratio above the limits for the link, once enough time has passed") {
  Patched patched;
  patched.row(Patient::leaf0, 1).effective_ber = {3, 10};  // above 1e-11, an error
  patched.row(Patient::leaf0, 2).effective_ber = {7, 12};  // above 5e-12
  patched.row(Patient::leaf1, 1).effective_ber = {4, 12};  // good
  patched.row(Patient::leaf1, 2).symbol_ber = {2, 13};
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"ber-effective", "ber-symbol", "ber-effective"});
  const Finding& worst = diagnosis.findings[0];
  CHECK(*worst.level == Level::error);
  CHECK(worst.confidence == Confidence::sure);
  CHECK(worst.ends.size() == 2);
  CHECK(worst.evidence[0].field == "effective_ber");
  CHECK(worst.evidence[0].limit == 1e-11);
  CHECK_THAT(worst.detail, contains("The counters were cleared 60 min before; the limit is for low-latency FEC, up to 100 m."));
  CHECK_THAT(worst.detail, contains("This end: BER raw 1e-10, effective 3e-10, symbol 0 in 60 min; module 'PN-1'."));
  CHECK_THAT(worst.detail, contains("The other end: BER raw 1e-10, effective 0, symbol 0 in 60 min; module 'PN-1'."));
  CHECK(*diagnosis.findings[2].level == Level::warning);
}

TEST_CASE("a ratio is no finding while chance explains it, or where time, FEC mode or register is not known") {
  const auto found_with = [](auto change) {
    Patched patched;
    phy::PortRow& row = patched.row(Patient::leaf0, 1);
    row.symbol_ber = {2, 13};
    change(row);
    return patched.look().findings.size();
  };
  CHECK(found_with([](phy::PortRow&) {}) == 1);
  CHECK(found_with([](phy::PortRow& row) { row.milliseconds_since_clear = 10'000; }) == 0);  // 0.2 errors at 100 Gb/s
  CHECK(found_with([](phy::PortRow& row) { row.milliseconds_since_clear = 0; }) == 0);
  CHECK(found_with([](phy::PortRow& row) { row.fec_mode = static_cast<reg::FecMode>(99); }) == 0);
  CHECK(found_with([](phy::PortRow& row) { row.read = phy::parts_of(Part::statistics); }) == 0);
  CHECK(found_with([](phy::PortRow& row) { row.read = phy::parts_of(Part::operation); }) == 0);
  // Many errors in a short time are no chance, and yet only likely: the time in which a good link has three errors has not passed.
  Patched early;
  early.row(Patient::leaf0, 1).symbol_ber = {2, 10};
  early.row(Patient::leaf0, 1).milliseconds_since_clear = 10'000;
  const Diagnosis diagnosis = early.look();
  REQUIRE(diagnosis.findings.size() == 1);
  CHECK(diagnosis.findings[0].confidence == Confidence::likely);
  CHECK_THAT(diagnosis.findings[0].detail, contains("A link at the limit has three errors in 50 min."));
}

TEST_CASE("fec-uncorrectable: what registers counted between two readings, and nothing from one total") {
  Patched one;
  one.row(Patient::leaf0, 1).uncorrectable_blocks = 7;
  CHECK(one.look().findings.empty());

  for (const auto& [cleared_before, is_found] : {std::pair{hour - 10, true}, {hour + 10, false}}) {
    Patched two;
    two.row(Patient::leaf0, 1).uncorrectable_blocks = 7;
    phy::PortRow& then = two.before.ports.emplace_back();
    then.port = two.port(Patient::leaf0, 1);
    then.uncorrectable_blocks = 5;
    then.milliseconds_since_clear = static_cast<std::uint64_t>(cleared_before * 1000);
    then.set(Part::physical);
    then.set(Part::statistics);
    const Diagnosis diagnosis = two.look();
    CHECK(diagnosis.findings.size() == (is_found ? 1 : 0));
    if (!is_found) continue;
    CHECK(diagnosis.findings[0].check->id == "fec-uncorrectable");
    CHECK(diagnosis.findings[0].evidence[0].delta == 2U);
    CHECK(diagnosis.findings[0].evidence[0].seconds == 10.0);
  }
}

TEST_CASE("lane-weak names the lane") {
  Patched patched;
  patched.row(Patient::leaf0, 1).lane_ber = {phy::BitErrorRatio{1, 9}, {1, 9}, {5, 7}, {1, 9}};
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"lane-weak"});
  CHECK_THAT(diagnosis.findings[0].detail, contains("That is lane 2; the next worst has 1e-09."));
}

TEST_CASE("module-temperature and module-power go by the thresholds of the module; light that is lost is a finding of the cable") {
  Patched patched;
  phy::Module& hot = patched.row(Patient::leaf0, 1).module;
  hot.temperature = 75 * 256;
  hot.temperature_high = 70 * 256;
  phy::Module& dark = patched.row(Patient::leaf0, 2).module;
  dark.rx_power = {1, static_cast<std::uint16_t>(-14), 1, 1};
  dark.rx_power_low = static_cast<std::uint16_t>(-10);
  patched.row(Patient::leaf1, 1).module.rx_power.fill(static_cast<std::uint16_t>(-8));
  patched.row(Patient::host2, 1).module.tx_power.fill(2);
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"module-temperature", "module-power", "module-power"});
  CHECK(std::get<double>(diagnosis.findings[0].evidence[0].after.number) == 75);
  const auto has_text = [&diagnosis](std::string_view text) {
    return std::ranges::any_of(diagnosis.findings, [text](const Finding& of) { return of.detail.find(text) != std::string::npos; });
  };
  CHECK(has_text("The receiver is below its low alarm threshold."));

  Patched weak;
  weak.row(Patient::leaf0, 2).module.tx_power = {1, static_cast<std::uint16_t>(-9), 1, 1};
  weak.row(Patient::leaf0, 2).module.tx_power_low = static_cast<std::uint16_t>(-8);
  const Diagnosis sender = weak.look();
  REQUIRE(Patient::checks_of(sender) == Found{"module-power"});
  CHECK_THAT(sender.findings[0].detail, contains("The transmitter is below its low alarm threshold."));
  CHECK(sender.findings[0].evidence[0].field == "tx_power_dbm");
  CHECK(has_text("10 dB are lost between the sender at the other end and the weakest lane here; 7 are the limit."));
}

TEST_CASE("module-unsupported and port-down: a cage with a module and no link; an unused cage is neither") {
  const auto spare = [](Patched& of) -> phy::PortRow& {
    for (subnet::PortIndex at = 0; at < of.swept->subnet.ports().size(); ++at) {
      const subnet::Port& port = of.swept->subnet.port(at);
      if (port.number != 0 && port.peer == subnet::none && port.has_info) return of.add(at);
    }
    throw std::logic_error("no port is without a link");
  };
  const auto checks_with = [&spare](std::uint16_t trouble, bool is_plugged) {
    Patched of;
    of.fabric.set_link(Patient::leaf0, 2, false);
    of.counts.clear();  // by indexes of the model before
    of.sweep();
    for (const auto source : sources_of_phy) of.input->source(source) = {};
    of.reading.ports.clear();
    phy::PortRow& row = spare(of);
    row.trouble = trouble;
    if (!is_plugged) {
      row.module = {};
      row.module.type = reg::ModuleType::unplugged;
    }
    return of.look();
  };
  const Diagnosis unsupported = checks_with(1029, true);
  REQUIRE(Patient::checks_of(unsupported) == Found{"module-unsupported"});
  CHECK_THAT(std::string(unsupported.findings[0].what_to_do()), contains("Replace the cable or module with one that the device supports"));
  const Diagnosis bad = checks_with(15, true);
  REQUIRE(Patient::checks_of(bad) == Found{"port-down"});
  CHECK(*bad.findings[0].level == Level::warning);
  CHECK_THAT(bad.findings[0].detail, contains("bad signal integrity (code 15)"));
  const Diagnosis off = checks_with(57, true);
  REQUIRE(Patient::checks_of(off) == Found{"port-down"});
  CHECK(*off.findings[0].level == Level::info);
  CHECK(checks_with(1024, false).findings.empty());
}

TEST_CASE("module-mixed and firmware-mixed are infos on those that differ from most of their kind") {
  Patched patched;
  for (phy::PortRow& row : patched.reading.ports) row.module.firmware = 46U << 24 | 120U << 16 | 7;
  patched.row(Patient::leaf1, 2).module.firmware = 46U << 24 | 110U << 16 | 1;
  for (const auto& [id, version] : {std::pair{Patient::host0, "28.41"}, {Patient::host1, "28.41"}, {Patient::host3, "28.40"}})
    patched.reading.devices.push_back({patched.node(id), phy::DeviceState::read, phy::Firmware{0, 0, "PSID", version, 0}});
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"module-mixed", "firmware-mixed"});
  REQUIRE(diagnosis.findings[0].ends.size() == 1);
  CHECK(diagnosis.findings[0].ends[0].port == patched.port(Patient::leaf1, 2));
  CHECK_THAT(diagnosis.findings[0].detail, contains("'PN-1': firmware 46.110.1 here, 46.120.7 in "));
  REQUIRE(diagnosis.findings[1].ends.size() == 1);
  CHECK(diagnosis.findings[1].ends[0].node == patched.node(Patient::host3));
  CHECK(*diagnosis.findings[1].level == Level::info);

  Patched halves;
  bool is_first = false;
  for (phy::PortRow& row : halves.reading.ports) {
    row.module.firmware = (46U << 24 | 120U << 16) + (is_first ? 1 : 2);
    is_first = !is_first;
  }
  const std::size_t modules = halves.reading.ports.size();
  REQUIRE(modules % 2 == 0);
  for (const auto& [id, version] : {std::pair{Patient::host0, "28.41"}, {Patient::host3, "28.40"}})
    halves.reading.devices.push_back({halves.node(id), phy::DeviceState::read, phy::Firmware{0, 0, "PSID", version, 0}});
  const Diagnosis even = halves.look();
  REQUIRE(Patient::checks_of(even) == Found{"module-mixed", "firmware-mixed"});
  CHECK(even.findings[0].ends.size() == modules);
  CHECK(even.findings[1].ends.size() == 2);
  CHECK_THAT(even.findings[1].detail, contains("firmware 28.40 in 1, 28.41 in 1: no version is the most common."));

  Patched vendors;
  for (const auto& [id, vendor] : {std::pair{Patient::leaf0, "A"}, {Patient::host0, "B\x1b"}}) {
    vendors.row(id, 1).module.type = reg::ModuleType::optical_module;
    Patched::set_text(vendors.row(id, 1).module.vendor, vendor);
  }
  const Diagnosis mixed = vendors.look();
  REQUIRE(Patient::checks_of(mixed) == Found{"module-mixed"});
  CHECK_THAT(mixed.findings[0].detail, contains("B\\x1b"));
}

TEST_CASE("temperature and fan are findings of the switch; without the limit or the speed there is no finding") {
  Patched patched;
  patched.input->environment_nodes = {patched.node(Patient::spine), patched.node(Patient::leaf0), patched.node(Patient::leaf1)};
  phy::EnvironmentRow& hot = patched.reading.environments.emplace_back();
  hot.node = patched.node(Patient::spine);
  hot.sensors = {{0, "asic", 106, 110, 105}, {1, "board", 40, {}, 70}, {2, "nothing", {}, {}, 70}};
  hot.fans = {{1, 0U, true}, {2, 9000U, false}, {3, {}, {}}};
  phy::EnvironmentRow& open = patched.reading.environments.emplace_back();
  open.node = patched.node(Patient::leaf0);
  open.sensors = {{0, "asic", 200, {}, {}}};
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"temperature", "fan"});
  CHECK_THAT(diagnosis.findings[0].detail, contains("Sensor 'asic'."));
  CHECK(diagnosis.findings[0].evidence[0].limit == 105.0);
  CHECK_THAT(diagnosis.findings[1].detail, contains("Below their limit: fan 1 (0 rpm)."));
  CHECK(result_of(diagnosis, "temperature").state == CheckState::partly);
  CHECK(result_of(diagnosis, "temperature").reason == "temperatures of 2 of 3 switches");
}

TEST_CASE("port-unhealthy and plane-asymmetric: the reason that the device gives") {
  Patched patched;
  patched.input->unhealthy = {{patched.port(Patient::leaf0, 1), mlx::UnhealthyReason::symbol_ber},
                              {patched.port(Patient::leaf0, 2), mlx::UnhealthyReason::none},
                              {patched.port(Patient::leaf1, 1), mlx::UnhealthyReason::asymmetric},
                              {patched.port(Patient::leaf1, 2), mlx::UnhealthyReason::unsupported}};
  const Diagnosis diagnosis = patched.look();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"port-unhealthy", "plane-asymmetric"});
  CHECK(diagnosis.findings[0].evidence[0].after.word == "symbol BER");
}

namespace {

/// Gives a port planes that are up, each with a cable of its own.
void add_planes(Patched& of, FakeFabric::NodeId id, unsigned number, unsigned count) {
  const auto port = std::ranges::find(of.reading.ports, of.port(id, number), &phy::PortRow::port);
  const auto at = static_cast<std::size_t>(port - of.reading.ports.begin());
  for (unsigned plane = count; plane > 0; --plane) {
    phy::PortRow row;
    row.port = of.port(id, number);
    row.plane = static_cast<std::uint8_t>(plane);
    row.link_state = reg::LinkFsm::active;
    row.module.type = reg::ModuleType::active_cable;
    Patched::set_text(row.module.serial_number, "CABLE" + std::to_string(plane));
    row.set(Part::operation);
    row.set(Part::module);
    of.reading.ports.insert(of.reading.ports.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(row));
  }
  of.input->planes.of_node[of.node(id)] = {count, false};
}

phy::PortRow& plane_of(Patched& of, FakeFabric::NodeId id, unsigned number, unsigned plane) {
  return *std::ranges::find_if(of.reading.ports,
                               [&](const phy::PortRow& row) { return row.port == of.port(id, number) && row.plane == plane; });
}

}  // namespace

TEST_CASE("plane-asymmetric: planes of a port that differ in state") {
  Patched good;
  add_planes(good, Patient::leaf0, 1, 4);
  const Diagnosis alike = good.look();
  CHECK(alike.findings.empty());
  // Only one of the ports of this switch was read plane by plane: the other ones stand in the coverage.
  CHECK(result_of(alike, "plane-asymmetric").reason == "planes of 1 of 3 ports");

  for (const bool may_differ : {false, true}) {
    Patched patched;
    add_planes(patched, Patient::leaf0, 1, 4);
    plane_of(patched, Patient::leaf0, 1, 3).link_state = reg::LinkFsm::polling;
    patched.input->planes.of_node.begin()->second.may_differ = may_differ;
    const Diagnosis diagnosis = patched.look();
    REQUIRE(Patient::checks_of(diagnosis) == Found{"plane-asymmetric"});
    CHECK_THAT(diagnosis.findings[0].detail, contains("port 1: plane 1 active, plane 2 active, plane 3 polling, plane 4 active."));
    CHECK(*diagnosis.findings[0].level == (may_differ ? Level::warning : Level::error));
  }

  Patched unread;  // a plane of which nothing was read is neither up nor down
  add_planes(unread, Patient::leaf0, 1, 2);
  plane_of(unread, Patient::leaf0, 1, 2).read = 0;
  CHECK(unread.look().findings.empty());

  Patched down;  // all planes are down: that is a port that is down
  add_planes(down, Patient::leaf0, 1, 2);
  for (const unsigned plane : {1U, 2U}) plane_of(down, Patient::leaf0, 1, plane).link_state = reg::LinkFsm::polling;
  CHECK(down.look().findings.empty());
}

TEST_CASE("plane-asymmetric: cables that lead from a plane to another one, as far as serial numbers show it") {
  const auto look_with = [](auto change) {
    Patched patched;
    add_planes(patched, Patient::leaf0, 1, 2);
    add_planes(patched, Patient::host0, 1, 2);
    change(patched);
    return patched.look();
  };
  const auto name = [](Patched& of, FakeFabric::NodeId id, unsigned plane, std::string_view serial) {
    Patched::set_text(plane_of(of, id, 1, plane).module.serial_number, serial);
  };
  CHECK(look_with([](Patched&) {}).findings.empty());
  const Diagnosis crossed = look_with([&](Patched& of) {
    name(of, Patient::host0, 1, "CABLE2");
    name(of, Patient::host0, 2, "CABLE1");
  });
  REQUIRE(Patient::checks_of(crossed) == Found{"plane-asymmetric"});
  CHECK(crossed.findings[0].confidence == Confidence::likely);
  CHECK_THAT(crossed.findings[0].detail, contains("'CABLE1' from plane") && contains("'CABLE2' from plane"));
  // One cage for all planes, modules with serial numbers of their own, or none: nothing can be said.
  for (const auto& [first, second] : {std::pair{"CABLE2", "CABLE2"}, {"OTHER", "ANOTHER"}, {"", ""}}) {
    const Diagnosis unknown = look_with([&, first = first, second = second](Patched& of) {
      name(of, Patient::host0, 1, first);
      name(of, Patient::host0, 2, second);
    });
    CHECK(unknown.findings.empty());
  }
}

TEST_CASE("registers that were not read are no findings, and stand in the coverage") {
  Patched patched;
  patched.row(Patient::leaf0, 1).read = 0;
  patched.row(Patient::leaf0, 2).read = phy::parts_of(Part::statistics);
  const std::size_t all = patched.reading.ports.size();
  const Diagnosis diagnosis = patched.look();
  CHECK(diagnosis.findings.empty());
  CHECK(diagnosis.any_not_read());
  const CheckResult result = result_of(diagnosis, "ber-effective");
  CHECK(result.state == CheckState::partly);
  REQUIRE(result.ports);
  CHECK(result.ports->read == all - 2);
  CHECK(result.ports->of == all);
}

TEST_CASE("the text of a port escapes what its device says, and leaves out what is not known") {
  phy::PortRow row;
  CHECK(layer_text(row, false).empty());
  row.trouble = 999;
  row.trouble_text = "odd\x1b[2J";
  row.set(Part::troubleshooting);
  CHECK(layer_text(row, false) == "trouble code 999: 'odd\\x1b[2J'");
  row.trouble = 1024;
  row.down_reason = reg::DownReason::unplugged;
  row.down_initiator = reg::DownInitiator::remote;
  row.set(Part::link_down);
  row.module.type = reg::ModuleType::unplugged;
  row.set(Part::module);
  CHECK(layer_text(row, false) == "cable unplugged (code 1024); went down last for: cable unplugged (by the peer); no module");
}

}  // namespace health_physical_tests
