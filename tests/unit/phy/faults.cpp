// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Devices that answer registers late, wrongly, busily or not at all.
#include <random>
#include <set>

#include "unit/phy/reading_bench.hpp"

namespace phy_reading_tests {

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

TEST_CASE_METHOD(Bench, "a late answer counts for its own request, and a device that always answers too late gets no more requests") {
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
