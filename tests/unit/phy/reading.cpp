// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Registers of a fabric: what is requested of which device, and what is not requested again.
#include <fmt/format.h>

#include <fstream>

#include "async/group.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "support/clear_changes.hpp"
#include "support/swapped_lids.hpp"
#include "support/temporary_directory.hpp"
#include "unit/phy/reading_bench.hpp"

namespace phy_reading_tests {

TEST_CASE_METHOD(Bench, "each port costs six Gets, each device one, and a port without a link is read too") {
  read();
  REQUIRE(found.ports.size() == 4);
  REQUIRE(found.devices.size() == 2);
  CHECK(found.failures.empty());
  CHECK(leaf_registers->times() == 1 + 3 * registers_of_a_port);
  CHECK(other_registers->times() == 1 + registers_of_a_port);
  for (const PortRow& row : found.ports) {
    CHECK(raw_ber(row) == Approx(5e-9));
    CHECK(padded_text(row.module.serial_number) == "SERIAL");
  }
  CHECK(found.ports[2].link_down_events == 3);
  CHECK(found.devices[0].state == DeviceState::read);
  REQUIRE(found.devices[0].firmware);
  CHECK(found.devices[0].firmware->psid == "MT_0000000042");
  CHECK(found.devices[0].firmware->version == "31.2012.1024");
}

TEST_CASE_METHOD(Bench, "only Gets are sent, by IB port number, and no bit that changes something") {
  options.histogram = true;
  leaf_registers->add<reg::Pphcr>(1);
  leaf_registers->add<reg::PpcntFecHistogram>(1);
  read();
  for (const FakeRegisters* registers : {leaf_registers, other_registers}) {
    for (const auto& request : registers->asked) {
      CHECK(request[3] == mad::method::get);
      const StructInfo* info = find_attribute_in(request);
      REQUIRE(info != nullptr);
      const Bytes attribute = Bytes(request).subspan(24, info->bytes);
      std::vector<std::uint8_t> without(attribute.begin(), attribute.end());
      ibtest::clear_changes(without, *info);
      CHECK(std::ranges::equal(without, attribute));
      if (info->register_id >= 0) CHECK(read_number(attribute, *find_field(*info, "pnat")) == 1);
    }
  }
}

TEST_CASE_METHOD(Bench, "a device of another vendor gets no request") {
  fabric.node(other).info.vendor_id = 0x1175;
  read();
  CHECK(other_registers->times() == 0);
  CHECK(found.devices[1].state == DeviceState::other_vendor);
  CHECK_FALSE(found.ports[3].is_known());
  CHECK(found.failures.empty());
}

TEST_CASE_METHOD(Bench, "a device without AccessRegister gets only a request for GeneralInfo") {
  other_registers->general.capability_mask = 0;
  read();
  CHECK(other_registers->times() == 1);
  CHECK(found.devices[1].state == DeviceState::no_registers);
  CHECK(found.failures.empty());
}

TEST_CASE_METHOD(Bench, "a device that refuses GeneralInfo gets no further request and is no failure") {
  other_registers->has_general = false;
  read();
  CHECK(other_registers->times() == 1);
  CHECK(found.devices[1].state == DeviceState::refused);
  CHECK(found.failures.empty());
}

TEST_CASE_METHOD(Bench, "a register that a type of device does not have is requested once") {
  fabric.node(other).info.device_id = 1;
  leaf_registers->unsupported.insert(reg::Ppcnt::register_id);
  read();
  CHECK(leaf_registers->times(reg::Ppcnt::register_id) == 2);  // two groups, each once
  CHECK(other_registers->times(reg::Ppcnt::register_id) == 2);
  CHECK_FALSE(raw_ber(found.ports[0]));
  CHECK(found.ports[0].has(Part::module));
  CHECK(raw_ber(found.ports[3]));
  CHECK(found.failures.empty());
}

namespace {

constexpr std::uint64_t key = 0x1122334455667788;

std::uint64_t key_in(const FakeFabric::Answer& request) { return load_be<std::uint64_t>(&request[24]); }

/// A file of VS_Keys.
VsKeys keys_of(const std::string& text) {
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("guid2vskey");
  std::ofstream(file) << text;
  return VsKeys::read(file);
}

}  // namespace

TEST_CASE_METHOD(Bench, "a protected device is read with its VS_Key, which no other device gets") {
  leaf_registers->vs_key = key;
  const VsKeys keys = keys_of("0x0000000000000100 0x1122334455667788\n\n0x0000000000000999 0x5\n");
  options.vs_keys = &keys;
  read();
  CHECK(found.failures.empty());
  CHECK(found.ports[0].is_known());
  CHECK(leaf_registers->times() == 1 + 3 * registers_of_a_port);
  for (const auto& request : leaf_registers->asked) CHECK(key_in(request) == key);
  for (const auto& request : other_registers->asked) CHECK(key_in(request) == 0);
}

TEST_CASE_METHOD(Bench, "a protected device without its key gets no request but the tries of GeneralInfo") {
  leaf_registers->vs_key = key;
  const VsKeys keys(key + 1);
  options.vs_keys = &keys;
  read();
  CHECK(found.devices[0].state == DeviceState::silent);
  CHECK(leaf_registers->times() == 2);
  CHECK(found.failures.size() == 1);
}

TEST_CASE_METHOD(Bench, "a VS_Key does not go to a LID that another node has, nor to one of which no SMP says whose it is") {
  const VsKeys keys(key);
  options.vs_keys = &keys;
  SECTION("another node") {
    before_reading = [this] { swap_lids(fabric, {leaf, 0}, {other, 1}); };
    read();
    for (const auto& device : found.devices) CHECK(device.state == DeviceState::unreachable);
    REQUIRE(found.failures.size() == 2);
    CHECK(found.failures[0].why.ends_with("belongs to another node now: the VS_Key is not sent."));
  }
  SECTION("no SMP") {
    has_smps = false;
    read();
    CHECK(found.failures.size() == 2);
  }
  for (const FakeRegisters* registers : {leaf_registers, other_registers}) CHECK(registers->times() == 0);
}

TEST_CASE_METHOD(Bench, "a key that a file has by the GUID of a port goes to that port, whichever of the device it is") {
  const auto twin = fabric.add_ca(0x400, 2, "two ports");
  fabric.link(leaf, 3, twin, 2);
  fabric.assign_lids();
  FakeRegisters& registers = run_registers(fabric, twin);
  for (unsigned port = 1; port <= 2; ++port) add_port(registers, port);
  registers.vs_key = key;
  const Guid port_guid = Swept(fabric).subnet.port_guid(Swept(fabric).subnet.port_of(Swept(fabric).subnet.find_node(Guid{0x400}), 2));
  REQUIRE(port_guid != Guid{0x400});
  const VsKeys keys = keys_of(fmt::format("0x{:016x} 0x1122334455667788\n", port_guid.value));
  options.vs_keys = &keys;
  swept.emplace(fabric);
  paths.emplace(swept->subnet, start());
  options.paths = &*paths;
  options.smps = &*swept->rpc;
  const auto node = swept->subnet.find_node(Guid{0x400});
  found = swept->loop.run(read_phy(*swept->rpc, swept->subnet, {swept->subnet.port_of(node, 1), swept->subnet.port_of(node, 2)}, options));
  CHECK(found.failures.empty());
  CHECK(found.ports[0].is_known());  // port 1 has no link: requests about it go to port 2
  CHECK(found.ports[1].is_known());
}

TEST_CASE_METHOD(Bench, "values that were read are available at any time, also if the reading is stopped") {
  fabric.network.delay = std::chrono::milliseconds(10);
  swept.emplace(fabric);
  paths.emplace(swept->subnet, start());
  options.paths = &*paths;
  std::vector<subnet::PortIndex> ports;
  const auto node = swept->subnet.find_node(Guid{0x100});
  for (unsigned port = 1; port <= 3; ++port) ports.push_back(swept->subnet.port_of(node, port));
  ports.push_back(swept->subnet.port_of(swept->subnet.find_node(Guid{0x300}), 1));
  options.devices = 1;
  async::TaskGroup group(swept->loop);
  group.spawn(read_phy_into(found, *swept->rpc, swept->subnet, ports, options));
  const auto wait = [](async::Loop& loop) -> async::Task<> { co_await loop.sleep_for(std::chrono::milliseconds(95)); };
  swept->loop.run(wait(swept->loop));
  REQUIRE(found.ports.size() == 4);
  CHECK(found.ports[0].has(Part::operation));
  CHECK_FALSE(found.ports[2].has(Part::statistics));
  CHECK_FALSE(found.ports[3].is_known());
  CHECK(found.devices[0].state == DeviceState::read);
  CHECK(found.devices[1].state == DeviceState::not_requested);
}

TEST_CASE("files of VS_Keys") {
  CHECK(VsKeys().of(Guid{1}, Guid{2}) == 0);
  CHECK(keys_of("# of all\n 0x10\n").of(Guid{1}, Guid{2}) == 16);
  const VsKeys keys = keys_of("0x0000000000000001 0x10\n0x0000000000000002\t17\n");
  CHECK(keys.of(Guid{1}, Guid{3}) == 16);
  CHECK(keys.of(Guid{3}, Guid{2}) == 17);
  CHECK(keys.of(Guid{3}, Guid{4}) == 0);
  for (const char* text : {"", "# nothing\n", "0x10\n0x11\n", "0x1 secret12\n", "0x10\n0x0000000000000001 0x10\n", "secret12\n",
                           "0x0000000000000001 0x10 0x11\n", "0x0000000000000001 0x10\n0x11\n"}) {
    INFO(text);
    CHECK_THROWS_AS(keys_of(text), UsageError);
    try {
      keys_of(text);
    } catch (const UsageError& error) {
      CHECK(error.message().find("secret12") == std::string::npos);
    }
  }
}

TEST_CASE_METHOD(Bench, "a device has at most two requests in flight") {
  fabric.network.delay = std::chrono::milliseconds(1);
  read();
  CHECK(most_in_flight[1] == 2);  // the switch, which has several ports
  CHECK(most_in_flight[3] == 1);
}

TEST_CASE_METHOD(Bench, "the requests of a second are limited") {
  options.per_second = 10;
  read();
  const auto begun = swept->loop.now();
  found = swept->loop.run(read_phy(*swept->rpc, swept->subnet, {swept->subnet.port_of(swept->subnet.find_node(Guid{0x100}), 1)}, options));
  CHECK(swept->loop.now() - begun >= std::chrono::milliseconds(500));
}

TEST_CASE_METHOD(Bench, "without ports only GeneralInfo is read") {
  options.wanted = ReadingScope::nothing;
  read();
  CHECK(leaf_registers->times() == 1);
  CHECK(other_registers->times() == 1);
  CHECK(found.ports.empty());
  CHECK(found.devices.size() == 2);
}

TEST_CASE_METHOD(Bench, "sensors and fans are those that the device names") {
  options.wanted = ReadingScope::environment;
  FakeRegisters& leaf_of = *leaf_registers;
  leaf_of.set<reg::Mtcap>(0, "sensor_map", 5U);
  leaf_of.set<reg::Mtmp>(0, "temperature", 47U * 8);
  leaf_of.set<reg::Mtmp>(0, "max_temperature", 55U * 8);
  leaf_of.set<reg::Mtmp>(0, "temperature_threshold_hi", 105U * 8);
  leaf_of.set<reg::Mtmp>(0, "sensor_name", std::string_view("asic"));
  leaf_of.set<reg::Mtmp>(2, "temperature", 200U * 8);
  leaf_of.set<reg::Mfcr>(0, "tacho_active", 3U);
  leaf_of.set<reg::Fore>(0, "fan_under_limit", 2U);
  leaf_of.set<reg::Mfsm>(0, "rpm", 9000U);
  leaf_of.set<reg::Mfsm>(1, "rpm", 120U);
  read();
  REQUIRE(found.environments.size() == 1);
  const EnvironmentRow& row = found.environments[0];
  REQUIRE(row.sensors.size() == 2);
  CHECK(row.sensors[0].name == "asic");
  CHECK(row.sensors[0].celsius == Approx(47));
  CHECK(row.sensors[0].greatest == Approx(55));
  CHECK(row.sensors[0].limit == Approx(105));
  CHECK(row.sensors[1].index == 2);
  CHECK_FALSE(row.sensors[1].celsius);
  CHECK_FALSE(row.sensors[1].limit);
  REQUIRE(row.fans.size() == 2);
  CHECK(row.fans[0].rpm == 9000U);
  CHECK(row.fans[0].is_below_limit == false);
  CHECK(row.fans[1].is_below_limit == true);
  CHECK(found.ports.empty());
}

TEST_CASE_METHOD(Bench, "no fans are requested of an adapter") {
  options.wanted = ReadingScope::environment;
  other_registers->set<reg::Mtcap>(0, "sensor_map", 1U);
  other_registers->set<reg::Mtmp>(0, "temperature", 47U * 8);
  read();
  CHECK(other_registers->times(reg::Mfcr::register_id) == 0);
  REQUIRE(found.environments.size() == 1);
  CHECK(found.failures.size() == 1);  // of the switch, which refuses everything
}

}  // namespace phy_reading_tests
