// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Registers of a fabric: what is requested of which device, and what is not requested again.
#include "phy/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include "async/group.hpp"
#include "iba-gen/reg.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "phy/contested_ports.hpp"
#include "support/catch.hpp"
#include "support/fake_registers.hpp"
#include "support/swapped_lids.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace phy_reading_tests {

using namespace ib;
using namespace ib::phy;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using ibtest::Swept;

namespace {

constexpr std::size_t registers_of_a_port = 6;

/// Gives a port all registers that are read, a bit error ratio and a module.
void add_port(FakeRegisters& registers, unsigned port) {
  registers.add<reg::PddrOperation>(port);
  registers.add<reg::PddrTroubleshooting>(port);
  registers.set<reg::PddrModule>(port, "vendor_sn", std::string_view("SERIAL"));
  registers.set<reg::PddrModule>(port, "cable_type", 1U);
  registers.add<reg::PddrLinkDown>(port);
  registers.set<reg::PpcntPhysical>(port, "link_down_events", port);
  registers.set<reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
  registers.set<reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
}

/// Counts the requests in flight to each LID.
class InFlight final : public mad::Transactor {
 public:
  InFlight(mad::Transactor& below, std::map<unsigned, unsigned>& most) : Transactor(below.end_port()), below_(below), most_(most) {}
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    const unsigned lid = request.path.ib().dlid.value;
    most_[lid] = std::max(most_[lid], ++now_[lid]);
    mad::Result<mad::Reply> reply = co_await below_.try_call(request);
    --now_[lid];
    co_return reply;
  }

 private:
  mad::Transactor& below_;
  std::map<unsigned, unsigned> now_;
  std::map<unsigned, unsigned>& most_;
};

/// A switch with the host of the test at port 1, another host at port 2 and nothing at port 3.
struct Bench {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 3, "leaf"), here = fabric.add_ca(0x200, 1, "here"),
                     other = fabric.add_ca(0x300, 1, "other");
  FakeRegisters *leaf_registers{}, *other_registers{};
  std::optional<Swept> swept;
  std::optional<subnet::PortPaths> paths;
  ReadingOptions options;
  Reading found;
  std::map<unsigned, unsigned> most_in_flight;  ///< by LID
  std::function<void()> before_reading;         ///< after the sweep
  bool has_smps = true;

  Bench() {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    leaf_registers = &run_registers(fabric, leaf);
    other_registers = &run_registers(fabric, other);
    for (unsigned port = 1; port <= 3; ++port) add_port(*leaf_registers, port);
    add_port(*other_registers, 1);
    leaf_registers->general.ext_major = 31;
    leaf_registers->general.ext_minor = 2012;
    leaf_registers->general.ext_sub_minor = 1024;
    std::ranges::copy(std::string_view("MT_0000000042"), leaf_registers->general.fw_psid.begin());
  }
  path::Path start() {
    path::IbDrPath path(&fabric.end_port());
    path.sqpn = Qpn{0};
    path.retries = 1;
    return path;
  }
  /// Reads all ports of the switch and of the other host.
  void read() {
    swept.emplace(fabric);
    paths.emplace(swept->subnet, start());
    options.paths = &*paths;
    std::vector<subnet::PortIndex> ports;
    for (const auto& [guid, count] : {std::pair<std::uint64_t, unsigned>{0x100, 3}, {0x300, 1}}) {
      const auto node = swept->subnet.find_node(Guid{guid});
      for (unsigned port = 1; port <= count; ++port) ports.push_back(swept->subnet.port_of(node, port));
    }
    if (before_reading) before_reading();
    if (has_smps) options.smps = &*swept->rpc;
    InFlight transactor(*swept->rpc, most_in_flight);
    found = swept->loop.run(read_phy(transactor, swept->subnet, std::move(ports), options));
  }
};

}  // namespace

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
      clear_changes(without, *info);
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

TEST_CASE_METHOD(Bench, "a device without AccessRegister is asked for GeneralInfo only") {
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

TEST_CASE_METHOD(Bench, "a device that is silent to GeneralInfo gets no further request") {
  other_registers->service().faults.silent = true;
  read();
  CHECK(other_registers->service().requests == 2);  // the tries of GeneralInfo
  CHECK(found.devices[1].state == DeviceState::silent);
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].kind == subnet::Failure::Kind::no_answer);
  CHECK(found.ports[0].is_known());
}

TEST_CASE_METHOD(Bench, "a device that was silent gets no request in later readings of the run, and is a failure in each") {
  other_registers->service().faults.silent = true;
  std::set<subnet::NodeIndex> silent;
  options.silent = &silent;
  read();
  CHECK(silent.size() == 1);
  read();
  CHECK(other_registers->service().requests == 2);
  CHECK(found.devices[1].state == DeviceState::silent);
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].kind == subnet::Failure::Kind::no_answer);
  CHECK(leaf_registers->times() == 2 * (1 + 3 * registers_of_a_port));
}

TEST_CASE_METHOD(Bench, "a device that is silent to its first register gets no further request") {
  leaf_registers->silent_about = {reg::Pddr::register_id, reg::Ppcnt::register_id};
  read();
  CHECK(leaf_registers->times(reg::Pddr::register_id) == 2);  // the tries of one register
  CHECK(leaf_registers->times(reg::Ppcnt::register_id) == 0);
  CHECK(found.devices[0].state == DeviceState::silent);
  CHECK(found.failures.size() == 1);
  CHECK(found.ports[3].is_known());
}

TEST_CASE_METHOD(Bench, "a device that falls silent gets three registers more at most") {
  leaf_registers->silent_about = {reg::Ppcnt::register_id};
  read();
  CHECK(leaf_registers->times(reg::Ppcnt::register_id) <= 8);
  CHECK(found.devices[0].state == DeviceState::stopped_answering);
  CHECK(found.ports[0].has(Part::module));
  CHECK(found.failures.size() == 1);
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

TEST_CASE_METHOD(Bench, "a busy device is waited for") {
  leaf_registers->service().faults.busy_next = 6;
  read();
  CHECK(found.failures.empty());
  CHECK(found.ports[0].has(Part::statistics));
}

TEST_CASE_METHOD(Bench, "a device that is slow is left for last") {
  leaf_registers->busy_next = 2;  // both tries of the first request
  options.devices = 1;
  std::vector<std::string> order;
  const auto listen = [&order](FakeFabric::Service& service, std::string name) {
    service.answer = [&order, name = std::move(name), usual = service.answer](unsigned port, Bytes request) {
      if (order.empty() || order.back() != name) order.push_back(name);
      return usual(port, request);
    };
  };
  listen(leaf_registers->service(), "leaf");
  listen(other_registers->service(), "other");
  read();
  CHECK(order == std::vector<std::string>{"leaf", "other", "leaf"});
  CHECK(found.failures.empty());
  for (const PortRow& row : found.ports) CHECK(row.has(Part::statistics));
}

TEST_CASE_METHOD(Bench, "a device that stays busy gets no further request after the tries of one") {
  leaf_registers->service().faults.busy_next = 1'000'000;
  other_registers->busy_next = 1'000'000;  // with registers only
  read();
  constexpr std::size_t tries = 5 * 2;  // each of five requests is sent twice
  CHECK(leaf_registers->service().requests == tries);
  CHECK(other_registers->times() == 1 + tries);
  REQUIRE(found.failures.size() == 2);
  for (const DeviceRow& device : found.devices) CHECK(device.state == DeviceState::stopped_answering);
  for (const PortRow& row : found.ports) CHECK_FALSE(row.is_known());
}

TEST_CASE_METHOD(Bench, "a stored answer that a device was busy is not waited for") {
  leaf_registers->service().faults.busy_next = 1'000'000;
  options.is_stored = true;
  read();
  CHECK(leaf_registers->service().requests == 2);  // one request, sent twice
  CHECK(found.devices[0].state == DeviceState::stopped_answering);
}

TEST_CASE_METHOD(Bench, "an answer of another port, page or register is not taken") {
  leaf_registers->wrong_port = true;
  other_registers->answers_instead = reg::Mtmp::register_id;
  read();
  for (const PortRow& row : found.ports) CHECK_FALSE(row.is_known());
  CHECK(found.failures.size() == 2);  // one a device, whatever it answers of how many registers
}

TEST_CASE_METHOD(Bench, "a register that is not answered is a failure, also of a device that answers others") {
  other_registers->silent_about = {reg::Ppcnt::register_id};
  read();
  CHECK(found.devices[1].state == DeviceState::read);  // two groups of counters are no reason to stop
  CHECK(found.ports[3].has(Part::module));
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].kind == subnet::Failure::Kind::no_answer);
}

TEST_CASE_METHOD(Bench, "an answer that is cut is a false one, and no refusal") {
  other_registers->short_about = {reg::Pddr::register_id};
  read();
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].kind == subnet::Failure::Kind::false_answer);
  CHECK(found.ports[3].has(Part::statistics));
}

namespace {

/// Has a device answer each request `by` answers late: with the MAD that belongs to an earlier request, but the transaction of this one
/// where `renumbered` is set.
void answer_late(FakeFabric::Service& service, std::size_t by, bool renumbered) {
  service.answer = [by, renumbered, usual = service.answer, kept = std::vector<FakeFabric::Answer>()](unsigned port,
                                                                                                      Bytes request) mutable {
    auto answer = usual(port, request);
    if (!answer) return answer;
    kept.push_back(*answer);
    if (kept.size() <= by) return std::optional<FakeFabric::Answer>();
    FakeFabric::Answer late = kept[kept.size() - 1 - by];
    if (renumbered) std::copy_n(request.begin() + 8, 8, late.begin() + 8);
    return std::optional(late);
  };
}

}  // namespace

TEST_CASE_METHOD(Bench, "late answers are those of their own requests, and nothing is requested of a device that only answers too late") {
  const auto wait = [](async::Loop& loop) -> async::Task<> { co_await loop.sleep_for(std::chrono::seconds(100)); };
  SECTION("in the second try") {
    other_registers->service().faults.delay = std::chrono::milliseconds(1500);
    read();
    CHECK(found.failures.empty());
    CHECK(found.devices[1].state == DeviceState::read);
    CHECK(found.ports[3].has(Part::statistics));
  }
  SECTION("after the last try, twice") {
    fabric.network.duplicate = true;
    other_registers->service().faults.delay = std::chrono::seconds(20);
    read();
    CHECK(other_registers->service().requests == 2);
    CHECK(found.devices[1].state == DeviceState::silent);
    swept->loop.run(wait(swept->loop));
    CHECK_FALSE(found.ports[3].is_known());
    CHECK(other_registers->service().requests == 2);
  }
  SECTION("while others wait for theirs") {  // the answers to the registers of port 1 come when those of ports 2 and 3 are due
    answer_late(leaf_registers->service(), 2, false);
    read();
    CHECK(leaf_registers->service().requests <= 6);
    CHECK_FALSE(found.ports[0].is_known());
    CHECK(found.devices[0].state == DeviceState::silent);
  }
  SECTION("under the number of a later request") {
    answer_late(leaf_registers->service(), 1, true);
    read();
    for (const PortRow& row : found.ports) {
      if (row.port == found.ports[3].port) continue;
      for (const Part part : {Part::operation, Part::troubleshooting, Part::module, Part::link_down, Part::physical, Part::statistics})
        CHECK_FALSE(row.has(part));
    }
    CHECK_FALSE(found.failures.empty());
  }
  CHECK(found.ports[3].has(Part::module) == (other_registers->service().requests > 2));
}

TEST_CASE_METHOD(Bench, "devices whose LID two ports claim get no request, since it is not known which of them answers") {
  const FakeFabric::NodeId twin = fabric.add_ca(0x300, 1, "twin");
  fabric.link(leaf, 3, twin, 1);
  fabric.assign_lids();
  fabric.node(twin).ports.at(1).info.lid = fabric.node(other).ports.at(1).info.lid;
  FakeRegisters& of_twin = run_registers(fabric, twin);
  add_port(of_twin, 1);
  read();
  CHECK(other_registers->times() == 0);
  CHECK(of_twin.times() == 0);
  CHECK(found.devices.at(0).state == DeviceState::read);
  CHECK(found.devices.at(1).state == DeviceState::unreachable);
  CHECK_FALSE(found.ports.at(3).is_known());
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].kind == subnet::Failure::Kind::duplicate_lid);
  CHECK_THAT(found.failures[0].why, ibtest::contains(": 2 ports claim LID "));
  CHECK(contested_ports(swept->subnet).size() == 2);
  subnet::Subnet& subnet = swept->subnet;
  smp::PortInfo info = subnet.port(subnet.start).info();
  info.lid = fabric.node(other).ports.at(1).info.lid;
  subnet.set_port_info(subnet.start, wire::packed(info));
  CHECK(claimants(subnet, info.lid) == 3);
  CHECK(contested_ports(subnet).size() == 3);
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
    CHECK(found.failures[0].why.ends_with("is that of another node now: the VS_Key is not sent."));
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

TEST_CASE_METHOD(Bench, "what was read is there at any time, also if the reading is ended") {
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
  options.wanted = Wanted::nothing;
  read();
  CHECK(leaf_registers->times() == 1);
  CHECK(other_registers->times() == 1);
  CHECK(found.ports.empty());
  CHECK(found.devices.size() == 2);
}

TEST_CASE_METHOD(Bench, "sensors and fans are those that the device names") {
  options.wanted = Wanted::environment;
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
  options.wanted = Wanted::environment;
  other_registers->set<reg::Mtcap>(0, "sensor_map", 1U);
  other_registers->set<reg::Mtmp>(0, "temperature", 47U * 8);
  read();
  CHECK(other_registers->times(reg::Mfcr::register_id) == 0);
  REQUIRE(found.environments.size() == 1);
  CHECK(found.failures.size() == 1);  // of the switch, which refuses everything
}

TEST_CASE_METHOD(Bench, "random registers make no row that is out of its limits") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    for (const StructInfo* info : {&reg::PddrOperation::info(), &reg::PddrTroubleshooting::info(), &reg::PddrModule::info(),
                                   &reg::PddrLinkDown::info(), &reg::PpcntPhysical::info(), &reg::PpcntStatistics::info()}) {
      for (const FieldInfo& field : info->fields) {
        if (field.kind == FieldKind::uint && field.bit_offset >= (12 + 8) * 8)
          leaf_registers->set(*info, 1, field.name, std::uint64_t{random()} << 32 | random());
      }
    }
    read();
    const PortRow& row = found.ports[0];
    for (const auto ber : {raw_ber(row), effective_ber(row), symbol_ber(row)}) CHECK((!ber || (*ber >= 0 && *ber <= 15)));
    for (const auto& value : rx_power_dbm(row)) CHECK((!value || (*value >= -40 && *value <= 20)));
    CHECK((!module_temperature(row) || *module_temperature(row) <= 130));
  }
}

}  // namespace phy_reading_tests
