// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The requests of each part of a snapshot: the requests of the commands, no request twice, silent and refusing agents once.
#include "snapshot/fabric_survey.hpp"

#include <fmt/ranges.h>

#include <set>

#include "iba-gen/cc.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "support/catch.hpp"
#include "unit/snapshot/recorder.hpp"

namespace snapshot_fabric_survey_tests {

using namespace ib;
using ibtest::CountingFabric;
using ibtest::detail_attributes;
using ibtest::FakeFabric;
using ibtest::Passed;
using ibtest::ReadFabric;
using snapshot::Part;
using snapshot::SurveyedPart;

namespace {

constexpr std::uint16_t class_port_info = 1;

/// The fabric of counters: leaf (LID 1, route 0,1) with four ports; here (LID 2, route 0) at port 1; other at ports 2 and 3 (LIDs 3 and 4,
/// routes 0,1,2 and 0,1,3).
struct Bench : CountingFabric {
  FakeFabric::Node& sw() { return fabric.node(leaf); }
  FakeFabric::Node& far() { return fabric.node(other); }
};

/// All nodes have an attribute that the fabric knows nothing of.
void give_attribute(FakeFabric& fabric, std::uint16_t attribute) {
  fabric.network.tamper = [attribute](Bytes request, std::optional<FakeFabric::Answer> answer) {
    std::vector<FakeFabric::Answer> answers;
    if (load_be<std::uint16_t>(&request[16]) == attribute) {
      answers.push_back(ibtest::answer_to(request));
    } else if (answer) {
      answers.push_back(std::move(*answer));
    }
    return answers;
  };
}

std::size_t count(const ReadFabric& read, std::uint8_t mgmt_class) {
  return static_cast<std::size_t>(std::ranges::count(read.of_part, mgmt_class, &Passed::mgmt_class));
}

async::Task<> nothing() { co_return; }

async::Task<SurveyedPart> one_failure() {
  SurveyedPart reading;
  reading.failures.resize(1);
  co_return reading;
}

}  // namespace

TEST_CASE("names of parts") {
  for (const snapshot::PartInfo& part : snapshot::all_parts) {
    CHECK(snapshot::find_part(part.name) == part.part);
    CHECK(snapshot::name(part.part) == part.name);
    CHECK_FALSE(part.description.empty());
  }
  CHECK(snapshot::all_parts.size() == 16);
  CHECK(std::ranges::count_if(snapshot::all_parts, snapshot::is_usual, &snapshot::PartInfo::part) == 14);
  CHECK(snapshot::name(Part::sa) == "sa");
  CHECK_FALSE(snapshot::find_part("LFT"));
}

TEST_CASE("the part ports: a device that is not known to have MlnxExtPortInfo gets the request, and may have it") {
  Bench bench;
  bench.sw().info.device_id = bench.fabric.node(bench.here).info.device_id = 1;
  bench.far().info.device_id = 0x1003;  // has MlnxExtPortInfo
  give_attribute(bench.fabric, smp::MlnxExtPortInfo::attribute_id);
  ReadFabric read(bench.fabric);
  const SurveyedPart done = read.read(Part::ports);
  CHECK(done.failures.empty());
  CHECK(read.times(smp::PortInfo::attribute_id) == 0);
  CHECK(read.times(smp::PortInfoExtended::attribute_id) == 0);
  CHECK(read.modifiers(smp::MlnxExtPortInfo::attribute_id) ==
        "0,1,2:0 0,1,2:1 0,1,2:2 0,1,3:0 0,1,3:1 0,1,3:2 0,1:0 0,1:1 0,1:2 0,1:3 0,1:4 0:0 0:1");
  CHECK(done.refused == 0);
  CHECK(done.answered == 13);
  CHECK(done.planned == 13);
  CHECK(read.progress == std::pair<std::uint64_t, std::uint64_t>(13, 13));
}

TEST_CASE("the model gets which links run at FDR10") {
  Bench bench;
  bench.fabric.network.tamper = [](Bytes request, std::optional<FakeFabric::Answer> answer) {
    std::vector<FakeFabric::Answer> answers;
    const bool is_mlnx = load_be<std::uint16_t>(&request[16]) == smp::MlnxExtPortInfo::attribute_id;
    if (answer) answers.push_back(is_mlnx ? ibtest::answer_to(request) : std::move(*answer));
    constexpr std::size_t data_offset = 64;
    smp::MlnxExtPortInfo info;
    info.link_speed_active = static_cast<std::uint8_t>(request[23]);
    if (answer && is_mlnx) info.pack(MutableBytes(answers[0]).subspan(data_offset, smp::MlnxExtPortInfo::wire_size));
    return answers;
  };
  bench.sw().info.device_id = 0xc738;
  ReadFabric read(bench.fabric);
  read.read(Part::ports);
  const auto speed = [&read](unsigned number) {
    return read.subnet.port(read.subnet.port_of(read.subnet.find_node(ib::Guid{0x100}), number)).fdr10;
  };
  CHECK(speed(2) == 2);
  CHECK(speed(3) == 3);
  CHECK(speed(4) == 0);  // its link is down
}

TEST_CASE("requests about ports of an adapter without a link go to its linked ports, for their PortInfo once") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here"), other = fabric.add_ca(0x300, 3, "other");
  fabric.link(leaf, 1, here, 1);
  fabric.link(leaf, 2, other, 2);
  fabric.link(leaf, 3, other, 1);
  fabric.assign_lids();
  fabric.attach(here);
  fabric.node(other).ports[3].info.vl_arbitration_low_cap = 4;
  ReadFabric read(fabric);
  SECTION("with the part ports") {
    read.read(Part::ports);
    CHECK(read.modifiers(smp::PortInfo::attribute_id) == "0,1,3:3");
    read.read(Part::vlarb);
    CHECK(read.times(smp::PortInfo::attribute_id) == 0);
  }
  SECTION("without it") {
    read.read(Part::vlarb);
    CHECK(read.modifiers(smp::PortInfo::attribute_id) == "0,1,3:3");
  }
  CHECK(read.modifiers(smp::VLArbitrationTable::attribute_id) == "0,1,3:10003");
}

TEST_CASE("PortInfoExtended is requested of nodes that say that they have it, of all ports, and of 255 for perfquery") {
  Bench bench;
  for (auto& port : bench.sw().ports) {
    port.info.capability_mask |= smp::capability_mask::is_capability_mask2_supported;
    port.info.capability_mask2 |= smp::capability_mask2::is_port_info_extended_supported;
  }
  ReadFabric read(bench.fabric);
  SECTION("as long as they answer") {
    give_attribute(bench.fabric, smp::PortInfoExtended::attribute_id);
    read.read(Part::ports);
    CHECK(ibtest::contains("0,1:0 0,1:1 0,1:2 0,1:3 0,1:4 0,1:ff").match(read.modifiers(smp::PortInfoExtended::attribute_id)));
  }
  SECTION("a refusal is one for all ports") {
    read.read(Part::ports);
    CHECK(ibtest::contains("0,1:1").match(read.modifiers(smp::PortInfoExtended::attribute_id)));
    CHECK_FALSE(ibtest::contains("0,1:2").match(read.modifiers(smp::PortInfoExtended::attribute_id)));
  }
}

TEST_CASE("forwarding tables are read up to their tops") {
  Bench bench;
  bench.sw().switch_info.linear_fdb_top = 200;
  bench.sw().switch_info.multicast_fdb_cap = 256;
  bench.sw().switch_info.multicast_fdb_top = 0xc000 + 40;
  ReadFabric read(bench.fabric);
  SurveyedPart done = read.read(Part::lft);
  CHECK(read.modifiers(smp::LinearForwardingTable::attribute_id) == "0,1:0 0,1:1 0,1:2 0,1:3");
  CHECK(read.modifiers(mlx::AdaptiveRoutingInfo::attribute_id) == "0,1:0");
  CHECK(done.planned == 4 + 1);
  CHECK(done.answered == 4);  // the switch has no AdaptiveRoutingInfo
  done = read.read(Part::mft);
  CHECK(read.modifiers(smp::MulticastForwardingTable::attribute_id) == "0,1:0 0,1:1");
  CHECK(done.answered == 2);
}

TEST_CASE("SLtoVL mapping tables: by input and output of a switch, one of another port") {
  Bench bench;
  ReadFabric read(bench.fabric);
  const SurveyedPart done = read.read(Part::sl2vl);
  CHECK(done.answered == 5 * 5 + 3);
  CHECK(done.planned == done.answered);
  std::set<std::uint32_t> of_leaf;
  for (const Passed& one : read.of_part) {
    if (one.to == "0,1") of_leaf.insert(one.modifier);
  }
  CHECK(of_leaf.size() == 25);
  CHECK(*of_leaf.begin() == 0);
  CHECK(*of_leaf.rbegin() == 0x404);
  CHECK(ibtest::contains("0,1,2:1 0,1,3:2").match(read.modifiers(smp::SLToVLMappingTable::attribute_id)));
}

TEST_CASE("VL arbitration tables: as many blocks as each port has, none of a basic port 0") {
  Bench bench;
  bench.sw().ports[0].info.vl_arbitration_low_cap = 8;
  bench.sw().ports[1].info.vl_arbitration_low_cap = 64;
  bench.sw().ports[2].info.vl_arbitration_high_cap = 200;  // no table has more than 64
  bench.far().ports[2].info.vl_arbitration_low_cap = 8;
  give_attribute(bench.fabric, smp::VLArbitrationTable::attribute_id);
  SECTION("a basic one") {
    ReadFabric read(bench.fabric);
    read.read(Part::vlarb);
    CHECK(read.modifiers(smp::VLArbitrationTable::attribute_id) ==
          "0,1,2:10002 0,1,3:10000 0,1,3:10002 0,1:10001 0,1:20001 0,1:30002 0,1:40002");
  }
  SECTION("an enhanced one") {
    bench.sw().switch_info.enhanced_port0 = 1;
    ReadFabric read(bench.fabric);
    read.read(Part::vlarb);
    CHECK(ibtest::contains("0,1:10000 0,1:10001").match(read.modifiers(smp::VLArbitrationTable::attribute_id)));
  }
}

TEST_CASE("P_Key tables: PartitionCap of end ports, PartitionEnforcementCap of a switch's external ports") {
  Bench bench;
  bench.far().info.partition_cap = 40;
  bench.sw().info.partition_cap = 8;
  bench.sw().switch_info.partition_enforcement_cap = 33;
  ReadFabric read(bench.fabric);
  read.read(Part::pkeys);
  CHECK(read.modifiers(smp::PKeyTable::attribute_id) ==
        "0,1,2:0 0,1,2:1 0,1,2:10000 0,1,2:10001 0,1,2:20000 0,1,2:20001 0,1,3:0 0,1,3:1 0,1,3:10000 0,1,3:10001 0,1,3:20000 0,1,3:20001 "
        "0,1:0 0,1:10000 0,1:10001 0,1:20000 0,1:20001 0,1:30000 0,1:30001 0,1:40000 0,1:40001 0:0 0:10000");
}

TEST_CASE("GUIDInfo of each port of an adapter comes through that port") {
  Bench bench;
  bench.far().ports[2].info.guid_cap = 9;
  ReadFabric read(bench.fabric);
  read.read(Part::guids);
  CHECK(ibtest::contains("0,1,3:0 0,1,3:1").match(read.modifiers(smp::GuidInfo::attribute_id)));
  for (const Passed& one : read.of_part) {
    if (one.attribute != smp::GuidInfo::attribute_id || one.modifier != 0) continue;
    const std::uint64_t guid = load_be<std::uint64_t>(one.answer.data());
    CHECK(guid == (one.to == "0,1,2" ? 0x301U : one.to == "0,1,3" ? 0x302U : one.to == "0" ? 0x201U : 0x100U));
  }
}

TEST_CASE("SMInfo is requested where there is a subnet manager, and where our port knows one, which may have ended") {
  Bench bench;
  bench.far().ports[2].info.capability_mask |= smp::capability_mask::is_sm;
  bench.far().sm_info = smp::SMInfo{};
  ReadFabric read(bench.fabric);
  const SurveyedPart done = read.read(Part::sminfo);
  CHECK(read.modifiers(smp::SMInfo::attribute_id) == "0,1,3:0 0,1:0");
  CHECK(done.answered == 1);
  CHECK(done.refused == 1);
}

TEST_CASE("counters: ClassPortInfo once, both attributes of each port, of 0, and of 255 where the PMA can") {
  Bench bench;
  bench.here_pma.capability_mask &= static_cast<std::uint16_t>(~pm::capability_mask::all_port_select);
  ReadFabric read(bench.fabric);
  const SurveyedPart done = read.read(Part::counters);
  CHECK(done.failures.empty());
  constexpr const char* all = "1:0 1:1 1:2 1:255 1:3 1:4 2:0 2:1 3:0 3:1 3:2 3:255 4:0 4:1 4:2 4:255";
  CHECK(read.selects(pm::PortCounters::attribute_id) == all);
  CHECK(read.selects(pm::PortCountersExt::attribute_id) == all);
  CHECK(read.selects(class_port_info) == "1:0 2:0 3:0 4:0");
  CHECK(done.planned == 4 + 2 * (6 + 3 + 4 + 4));
  CHECK(done.answered + done.refused == done.planned - 2);
}

TEST_CASE("a PMA that lacks an attribute gets one request for it") {
  Bench bench;
  bench.pma.unsupported.insert(pm::PortCountersExt::attribute_id);
  bench.pma.unsupported.insert(pm::PortRcvErrorDetails::attribute_id);
  ReadFabric read(bench.fabric);
  const SurveyedPart done = read.read(Part::counters);
  CHECK(done.failures.empty());
  CHECK(bench.pma.times(pm::PortCountersExt::attribute_id) == 1);
  CHECK(bench.pma.times(pm::PortCounters::attribute_id) == 6);
  CHECK(read.progress.first == read.progress.second);
  read.read(Part::details);
  CHECK(bench.pma.times(pm::PortRcvErrorDetails::attribute_id) == 1);
  CHECK(bench.pma.times(pm::PortXmitDiscardDetails::attribute_id) == 6);
}

TEST_CASE("details: every attribute of every port; ClassPortInfo is requested if counters were left out") {
  Bench bench;
  ReadFabric read(bench.fabric);
  SECTION("after counters") {
    read.read(Part::counters);
    const SurveyedPart done = read.read(Part::details);
    CHECK(read.times(class_port_info) == 0);
    CHECK(done.planned == detail_attributes().size() * 17);
    CHECK(read.of_part.size() == done.planned);
  }
  SECTION("without the part counters") {
    const SurveyedPart done = read.read(Part::details);
    CHECK(read.times(class_port_info) == 4);
    CHECK(read.of_part.size() == done.planned);
  }
  for (const StructInfo* attribute : detail_attributes()) {
    const auto id = static_cast<std::uint16_t>(attribute->attribute_id);
    CHECK(read.selects(id) == "1:0 1:1 1:2 1:255 1:3 1:4 2:0 2:1 2:255 3:0 3:1 3:2 3:255 4:0 4:1 4:2 4:255");
    // perfquery writes PortSelect where the attribute has it.
    CHECK(find_field(*attribute, "port_select")->bit_offset == 8);
    CHECK(find_field(*attribute, "port_select")->bits == 8);
  }
}

TEST_CASE("a silent PMA costs one chain of tries, is one failure, and gets no request in later parts") {
  Bench bench;
  bench.pma.service().faults.silent = true;
  ReadFabric read(bench.fabric, 2);
  SurveyedPart done = read.read(Part::counters);
  REQUIRE(done.failures.size() == 1);
  CHECK(done.failures[0].kind == subnet::Failure::Kind::no_answer);
  CHECK(read.subnet.node(done.failures[0].node).guid() == Guid{0x100});
  CHECK(bench.pma.service().requests == 3 + 1);  // three tries, and once more at the end
  CHECK(read.selects(pm::PortCounters::attribute_id) == "1:1 2:0 2:1 2:255 3:0 3:1 3:2 3:255 4:0 4:1 4:2 4:255");
  done = read.read(Part::details);
  CHECK(done.failures.empty());
  CHECK(bench.pma.service().requests == 4);
}

TEST_CASE("a PMA that answers the next try is read whole, and one of its requests is sent twice") {
  Bench bench;
  ReadFabric read(bench.fabric, 1);
  const auto is_lost = [](const Passed& one) { return one.to == "1" && !one.status; };
  // Deaf after three answers, until a request has run out of tries.
  bench.pma.service().faults.deaf = [&] {
    return bench.pma.service().answered == 3 && std::ranges::none_of(read.recorder->passed, is_lost);
  };
  const SurveyedPart done = read.read(Part::counters);
  CHECK(done.failures.empty());
  CHECK(std::ranges::count_if(read.of_part, is_lost) > 0);
  std::set<std::tuple<std::uint16_t, unsigned>> answered;
  std::size_t answers = 0;
  for (const Passed& one : read.of_part) {
    if (one.to != "1" || !one.status) continue;
    answered.emplace(one.attribute, one.select());
    ++answers;
  }
  CHECK(answered.size() == 13);
  CHECK(answers == 13 + 1);  // the request that looks whether the agent answers at all
}

TEST_CASE("a node that fell silent in the sweep gets no request for tables") {
  Bench bench;
  bench.far().faults.answers_left = 2;
  ReadFabric read(bench.fabric, 1);
  REQUIRE_FALSE(read.failures.empty());
  const std::size_t before = bench.fabric.requests_to(bench.other);
  for (const Part part : {Part::ports, Part::sl2vl, Part::pkeys, Part::guids}) CHECK(read.read(part).failures.empty());
  CHECK(bench.fabric.requests_to(bench.other) == before);
}

TEST_CASE("a node that ignores an optional attribute is still read") {
  Bench bench;
  bench.sw().faults.ignores = smp::MlnxExtPortInfo::attribute_id;
  bench.sw().info.device_id = 1;
  ReadFabric read(bench.fabric, 1);
  SurveyedPart done = read.read(Part::ports);
  CHECK(done.failures.empty());
  CHECK(ibtest::contains("0,1:1").match(read.modifiers(smp::MlnxExtPortInfo::attribute_id)));
  done = read.read(Part::pkeys);
  CHECK(ibtest::contains("0,1:0").match(read.modifiers(smp::PKeyTable::attribute_id)));
  SECTION("one that must be there is a failure") {
    bench.sw().faults.ignores = smp::GuidInfo::attribute_id;
    done = read.read(Part::guids);
    REQUIRE(done.failures.size() == 1);
    CHECK(done.failures[0].attribute == "GUIDInfo");
  }
}

TEST_CASE("counters of ports without a LID cannot be requested, which is reported once") {
  Bench bench;
  bench.far().ports[2].info.lid = Lid{0};
  ReadFabric read(bench.fabric);
  CHECK(read.read(Part::counters).failures.size() == 1);
  CHECK(read.read(Part::details).failures.empty());
  CHECK(read.read(Part::congestion).failures.empty());
}

TEST_CASE("congestion control is requested where an agent answers") {
  Bench bench;
  constexpr std::size_t data_offset = 64;
  unsigned limit = 130;
  for (const auto id : {bench.leaf, bench.other}) {
    bench.fabric.node(id).services[mad::mgmt_class::congestion].answer = [&](unsigned, Bytes request) {
      FakeFabric::Answer answer = ibtest::answer_to(request);
      const bool is_table = load_be<std::uint16_t>(&request[16]) == cc::CongestionControlTable::attribute_id;
      if (is_table) store_be(answer.data() + data_offset, static_cast<std::uint16_t>(limit));
      return std::optional(answer);
    };
  }
  bench.fabric.network.gmp = {};
  ReadFabric read(bench.fabric, 1);
  const SurveyedPart done = read.read(Part::congestion);
  CHECK(done.failures.empty());  // here: no agent
  CHECK(read.modifiers(class_port_info) == "1:0 2:0 3:0 4:0");
  CHECK(read.modifiers(cc::CongestionInfo::attribute_id) == "1:0 2:0 3:0 4:0");
  for (const std::uint16_t attribute :
       {cc::CongestionKeyInfo::attribute_id, cc::CongestionLogSwitch::attribute_id, cc::SwitchCongestionSetting::attribute_id,
        cc::CaCongestionSetting::attribute_id, cc::TimeStamp::attribute_id})
    CHECK(read.modifiers(attribute) == "1:0 3:0 4:0");
  CHECK(read.modifiers(cc::SwitchPortCongestionSetting::attribute_id) == "1:0");
  CHECK(read.modifiers(cc::CongestionControlTable::attribute_id) == "1:0 1:1 1:2 3:0 3:1 3:2 4:0 4:1 4:2");
}

TEST_CASE("vendor: only Mellanox devices, with the requests of vendstat") {
  Bench bench;
  constexpr std::size_t data_offset = 24;
  bench.sw().info.vendor_id = bench.far().info.vendor_id = 0x2c9;
  bench.fabric.node(bench.here).info.vendor_id = 0x1234;
  bench.sw().ports[0].info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
  bench.fabric.node(bench.leaf).services[0x0a].answer = [&](unsigned, Bytes request) {
    FakeFabric::Answer answer = ibtest::answer_to(request);
    mlx::GeneralInfo info;
    info.device_id = subnet::infini_scale3;
    const bool is_info = load_be<std::uint16_t>(&request[16]) == mlx::GeneralInfo::attribute_id;
    if (is_info) info.pack(MutableBytes(answer).subspan(data_offset, mlx::GeneralInfo::wire_size));
    return std::optional(answer);
  };
  bench.fabric.network.gmp = {};
  ReadFabric read(bench.fabric, 1);
  const SurveyedPart done = read.read(Part::vendor);
  CHECK(done.failures.empty());
  CHECK(count(read, 0x0a) == read.of_part.size());
  CHECK(read.modifiers(class_port_info) == "1:0 3:0 4:0");
  CHECK(read.modifiers(mlx::GeneralInfo::attribute_id) == "1:0");
  CHECK(read.modifiers(mlx::CounterGroupInfo::attribute_id) == "1:0 1:1 1:2 1:3 1:4");
  CHECK(read.modifiers(mlx::ConfigSpaceAccess::attribute_id) == "1:880000 1:900000");
  std::vector<std::uint8_t> wanted(mlx::ConfigSpaceAccess::wire_size);
  subnet::wait_request(0).pack(wanted);
  while (wanted.back() == 0) wanted.pop_back();
  const auto first = std::ranges::find(read.of_part, std::uint32_t{0x900000}, &Passed::modifier);
  CHECK(first->content == wanted);
}

TEST_CASE("no request is sent twice, by the sweep and all parts together") {
  Bench bench;
  for (auto& port : bench.sw().ports) port.info.vl_arbitration_low_cap = port.info.vl_arbitration_high_cap = 8;
  bench.far().info.vendor_id = 0x2c9;
  ReadFabric read(bench.fabric);
  std::uint64_t requested = 0;
  for (const auto& [part, name, description] : snapshot::all_parts) {
    const SurveyedPart done = read.read(part);
    requested += done.answered + done.refused;
    CHECK(done.planned >= done.answered + done.refused);
  }
  CHECK(read.recorder->passed.size() == read.swept + requested);
  std::set<std::tuple<std::string, std::uint8_t, std::uint16_t, std::uint32_t, std::vector<std::uint8_t>>> keys;
  for (const Passed& one : read.recorder->passed) {
    CAPTURE(one.to, one.attribute, one.modifier);
    CHECK(keys.insert(one.key()).second);
  }
}

TEST_CASE("the hook for the subnet administrator is given the Transactor that records") {
  Bench bench;
  ReadFabric read(bench.fabric);
  const mad::Transactor* given = nullptr;
  snapshot::FabricSurveyOptions options = read.options();
  options.read_sa = [&given](mad::Transactor& transactor) {
    given = &transactor;
    return one_failure();
  };
  snapshot::FabricSurvey reading(*read.recorder, read, options);
  read.loop.run(reading.read({Part::sa}));
  REQUIRE(read.ended.size() == 1);
  CHECK(read.ended[0].second.failures.size() == 1);
  CHECK(given == read.recorder.get());
}

TEST_CASE("SMPs and GMPs are sent side by side, of the GMPs first the queries for the SA's tables, then for the paths") {
  Bench bench;
  ReadFabric read(bench.fabric);
  std::vector<std::string> reports;
  snapshot::FabricSurveyOptions options = read.options();
  options.find_paths = [&] {
    reports.emplace_back("paths");
    return nothing();
  };
  options.read_sa = [](mad::Transactor&) { return one_failure(); };
  options.began = [&](Part part, std::uint64_t) { reports.emplace_back(snapshot::name(part)); };
  options.ended = [&](Part part, const SurveyedPart&) { reports.push_back("end of " + std::string(snapshot::name(part))); };
  snapshot::FabricSurvey reading(*read.recorder, read, options);
  read.loop.run(reading.read({Part::topology, Part::counters, Part::lft, Part::sa, Part::pkeys, Part::details}));
  const auto place = [&](std::string_view what) { return std::ranges::find(reports, what) - reports.begin(); };
  CHECK(reports.size() == 11);
  CHECK(place("sa") < place("end of lft"));
  CHECK(place("end of sa") < place("paths"));
  CHECK(place("paths") < place("counters"));
  CHECK(place("counters") < place("end of pkeys"));
  CHECK(place("lft") < place("end of counters"));
  CHECK(place("end of counters") < place("details"));
  const auto is_gmp = [](const Passed& one) { return !mad::is_smp(one.mgmt_class); };
  const auto first_gmp = std::ranges::find_if(read.recorder->passed, is_gmp);
  CHECK(std::any_of(first_gmp, read.recorder->passed.end(), [&](const Passed& one) { return !is_gmp(one); }));
}

}  // namespace snapshot_fabric_survey_tests
