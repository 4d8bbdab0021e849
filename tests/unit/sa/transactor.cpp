// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SMPs that become SA queries: what is asked, what comes back in an SMP's form, and that nothing else is sent. The SA is a
// small database of this file's: a CA at LID 1, a switch of 4 ports at LID 2, a router at LID 3.
#include "sa/transactor.hpp"

#include <array>
#include <map>

#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"

namespace sa_transactor_tests {

using namespace ib;
using ibtest::FakeFabric;

namespace {

constexpr std::size_t record_offset = 56;
constexpr std::uint16_t status_no_records = 0x0300, status_too_many = 0x0400;

struct Asked {
  std::uint8_t mgmt_class, method;
  std::uint16_t attribute;
  std::uint64_t mask;
  std::vector<std::uint8_t> record;
};

/// The host is the CA at LID 1.
FakeFabric two_nodes() {
  FakeFabric fabric;
  const auto host = fabric.add_ca(0x200, 1, "host"), leaf = fabric.add_switch(0x100, 4, "leaf");
  fabric.link(leaf, 1, host, 1);
  fabric.assign_lids();
  fabric.attach(host);
  return fabric;
}

struct Bench {
  Bench() {
    fabric.network.gmp = [this](Bytes request, const path::Path& path) -> std::optional<FakeFabric::Answer> {
      return answer(request, path);
    };
  }

  std::optional<FakeFabric::Answer> answer(Bytes request, const path::Path& path) {
    const sa::Format query = sa::Format::unpack(request);
    const Bytes record = request.subspan(record_offset);
    asked.push_back({query.mgmt_class, query.method, query.attribute_id, query.component_mask, {record.begin(), record.end()}});
    asked_path = path;
    FakeFabric::Answer out = ibtest::answer_to(request);
    std::uint16_t status = forced;
    if (status == 0) status = fill(query, record, MutableBytes(out).subspan(record_offset));
    store_be<std::uint16_t>(&out[4], status);
    return out;
  }

  static smp::NodeType type_of(unsigned lid) {
    return lid == 1 ? smp::NodeType::channel_adapter : lid == 2 ? smp::NodeType::switch_ : smp::NodeType::router;
  }

  std::uint16_t fill(const sa::Format& query, Bytes asked_record, MutableBytes out) const {
    const unsigned lid = load_be<std::uint16_t>(asked_record.data());
    if (lid < 1 || lid > 3) return status_no_records;
    if (query.attribute_id == sa::NodeRecord::attribute_id) {
      sa::NodeRecord record;
      record.lid = Lid{static_cast<std::uint16_t>(lid)};
      record.node_info.node_type = type_of(lid);
      record.node_info.num_ports = lid == 2 ? 4 : 1;
      record.node_description.node_string = {'n', static_cast<std::uint8_t>('0' + lid)};
      record.pack(out);
      return 0;
    }
    if (query.attribute_id == sa::PortInfoRecord::attribute_id) {
      sa::PortInfoRecord record = sa::PortInfoRecord::unpack(asked_record);
      const bool with_port = (query.component_mask & 2) != 0;
      if (lid == 2 && !with_port) return status_too_many;  // all ports of a switch have its LID
      if (with_port && record.port_num > (lid == 2 ? 4 : 1)) return status_no_records;
      if (!with_port) record.port_num = 1;
      record.port_info.lid = record.endport_lid;
      record.port_info.local_port_num = record.port_num;
      record.pack(out);
      return 0;
    }
    if (query.attribute_id == sa::LinkRecord::attribute_id) {
      sa::LinkRecord record = sa::LinkRecord::unpack(asked_record);
      const std::map<std::pair<unsigned, unsigned>, unsigned> links{{{1, 1}, 2}, {{2, 1}, 1}, {{2, 3}, 3}, {{2, 4}, 0xc000}};
      const auto link = links.find({lid, record.from_port});
      if (link == links.end()) return status_no_records;
      record.to_lid = Lid{static_cast<std::uint16_t>(link->second)};
      record.pack(out);
      return 0;
    }
    if (query.attribute_id == sa::LinearForwardingTableRecord::attribute_id) {
      sa::LinearForwardingTableRecord record = sa::LinearForwardingTableRecord::unpack(asked_record);
      if (lid != 2 || record.block_num != 0) return status_no_records;
      record.linear_forwarding_table.port_block.fill(7);
      record.pack(out);
      return 0;
    }
    return status_no_records;
  }

  template <class T>
  T get(const path::Path& path, std::uint32_t modifier = 0) {
    return loop.run(sa.subn_get<T>(path, modifier));
  }
  /// SMPs that left.
  std::size_t smps() const {
    std::size_t sum = 0;
    for (std::size_t node = 0; node <= fabric.size(); ++node) sum += fabric.requests_to(node);
    return sum;
  }

  FakeFabric fabric = two_nodes();
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  mad::Rpc rpc{loop, fabric.open()};
  sa::SaTransactor sa{rpc};
  std::vector<Asked> asked;
  std::optional<path::Path> asked_path;
  std::uint16_t forced = 0;
};

path::Path to_lid(const Bench& bench, std::uint16_t lid) {
  path::IbPath path;
  path.end_port = &bench.fabric.end_port();
  path.dlid = Lid{lid};
  path.slid = Lid{1};
  path.dqpn = path.sqpn = Qpn{0};
  path.qkey = 0;
  return path;
}

path::Path route(const Bench& bench, std::initializer_list<std::uint8_t> ports) {
  path::IbDrPath path(&bench.fabric.end_port());
  for (const std::uint8_t port : ports) path = *path.advance(port);
  return path;
}

/// The LID and the components that the last query asked with.
std::pair<unsigned, std::uint64_t> last(const Bench& bench) {
  return {load_be<std::uint16_t>(bench.asked.back().record.data()), bench.asked.back().mask};
}

}  // namespace

TEST_CASE("NodeInfo and NodeDescription come from the NodeRecord of the LID, and no SMP leaves") {
  Bench bench;
  bench.rpc.sa_path().ib().sm_key = 0;
  const auto node = bench.get<smp::NodeInfo>(to_lid(bench, 2));
  REQUIRE(node.node_type == smp::NodeType::switch_);
  REQUIRE(node.num_ports == 4);
  REQUIRE(bench.asked.back().mgmt_class == 3);
  REQUIRE(bench.asked.back().method == mad::method::get);
  REQUIRE(bench.asked.back().attribute == 0x11);
  REQUIRE(last(bench) == std::pair(2U, std::uint64_t{1}));
  REQUIRE(bench.asked_path->ib().dqpn == Qpn{1});
  const auto description = bench.get<smp::NodeDescription>(to_lid(bench, 3));
  REQUIRE(description.node_string[1] == '3');
  REQUIRE(bench.smps() == 0);
}

TEST_CASE("PortInfo of port 0 is the port of the LID on a CA and a router, and port 0 on a switch") {
  Bench bench;
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 1)).local_port_num == 1);
  REQUIRE(last(bench) == std::pair(1U, std::uint64_t{1}));
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 3)).local_port_num == 1);
  REQUIRE(last(bench) == std::pair(3U, std::uint64_t{1}));
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 2)).local_port_num == 0);
  REQUIRE(last(bench) == std::pair(2U, std::uint64_t{3}));
  REQUIRE(bench.asked.back().record[2] == 0);
  const std::size_t before = bench.asked.size();
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 2)).lid == Lid{2});
  REQUIRE(bench.asked.size() == before + 1);  // that it is a switch is known by now
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 2), 3).local_port_num == 3);
  REQUIRE(bench.get<smp::PortInfo>(to_lid(bench, 2), 1U << 31 | 4).local_port_num == 4);
  REQUIRE(bench.smps() == 0);
}

TEST_CASE("directed routes are followed through link records, each once") {
  Bench bench;
  REQUIRE(bench.get<smp::NodeInfo>(route(bench, {1, 3})).node_type == smp::NodeType::router);
  REQUIRE(bench.asked.size() == 3);
  REQUIRE(bench.asked[0].attribute == 0x20);
  REQUIRE(bench.asked[0].mask == 3);
  REQUIRE(bench.asked[1].record[2] == 3);
  REQUIRE(bench.get<smp::NodeInfo>(route(bench, {1})).node_type == smp::NodeType::switch_);
  REQUIRE(bench.asked.size() == 4);
  REQUIRE(bench.get<smp::NodeInfo>(route(bench, {})).node_type == smp::NodeType::channel_adapter);
  REQUIRE(bench.asked.size() == 5);
  REQUIRE(bench.smps() == 0);
}

TEST_CASE("combined routes begin and end at their LIDs") {
  Bench bench;
  path::IbDrPath path = *path::IbDrPath(&bench.fabric.end_port()).advance(3);
  path.dlid = Lid{2};
  REQUIRE(bench.loop.run(bench.sa.find_lid(path)).take() == Lid{3});
  path.dr_dlid = Lid{1};
  REQUIRE(bench.loop.run(bench.sa.find_lid(path)).take() == Lid{1});
  REQUIRE(bench.asked.size() == 1);
}

TEST_CASE("a link that the SA does not know is the SA's error, and an impossible LID is refused") {
  Bench bench;
  REQUIRE_THROWS_AS(bench.get<smp::NodeInfo>(route(bench, {1, 2})), mad::SaError);
  REQUIRE_THROWS_WITH(bench.get<smp::NodeInfo>(route(bench, {1, 4})), "The SA's link record leads from port 4 of LID 2 to LID 49152");
}

TEST_CASE("no record of a node or a port is the error of the seeds") {
  Bench bench;
  try {
    bench.get<smp::NodeInfo>(to_lid(bench, 200));
    FAIL("known");
  } catch (const mad::SaError& error) {
    REQUIRE(error.code() == 3);
    REQUIRE(error.lines(0)[0] == "The SA has no NodeRecord that matches");
  }
  REQUIRE_THROWS_WITH(bench.get<smp::PortInfo>(to_lid(bench, 2), 99), "The SA has no PortInfoRecord that matches");
  REQUIRE_THROWS_AS(bench.get<smp::SwitchInfo>(to_lid(bench, 1)), mad::SaError);
}

TEST_CASE("blocks that the SA has no record of are zeros where these stand for nothing, and the table exists") {
  Bench bench;
  REQUIRE(bench.get<smp::PKeyTable>(to_lid(bench, 1), 1).p_key_block[0] == 0);
  REQUIRE(bench.get<smp::PKeyTable>(to_lid(bench, 2), 4U << 16).p_key_block[0] == 0);
  REQUIRE(bench.get<smp::MulticastForwardingTable>(to_lid(bench, 2), 1).port_mask_block[0] == 0);
  // … but a CA has no forwarding table, a switch of 4 ports no fifth port, and an unknown node nothing.
  REQUIRE_THROWS_AS(bench.get<smp::MulticastForwardingTable>(to_lid(bench, 1), 0), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::PKeyTable>(to_lid(bench, 2), 5U << 16), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::PKeyTable>(to_lid(bench, 9), 0), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::MulticastForwardingTable>(to_lid(bench, 9), 0), mad::SaError);
  REQUIRE(bench.smps() == 0);
}

TEST_CASE("zeros are values in other tables, so that a block without a record is not read") {
  Bench bench;
  REQUIRE(bench.get<smp::LinearForwardingTable>(to_lid(bench, 2), 0).port_block[5] == 7);
  REQUIRE_THROWS_AS(bench.get<smp::LinearForwardingTable>(to_lid(bench, 2), 1), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::RandomForwardingTable>(to_lid(bench, 2), 0), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::SLToVLMappingTable>(to_lid(bench, 2), 0x0104), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::SLToVLMappingTable>(to_lid(bench, 1), 0), mad::SaError);
  REQUIRE_THROWS_AS(bench.get<smp::VLArbitrationTable>(to_lid(bench, 2), 1U << 16 | 4), mad::SaError);
  REQUIRE(bench.smps() == 0);
}

TEST_CASE("another error is never taken for an empty table") {
  Bench bench;
  bench.get<smp::NodeInfo>(to_lid(bench, 2));
  bench.forced = 0x0100;  // ERR_NO_RESOURCES
  REQUIRE_THROWS_AS(bench.get<smp::MulticastForwardingTable>(to_lid(bench, 2), 1), mad::SaError);
}

TEST_CASE("each table is selected by its block, and by its port on a switch only") {
  struct Case {
    std::uint16_t attribute;
    std::uint32_t modifier;
    std::uint16_t lid, record;
    std::uint64_t mask;
    std::array<std::uint8_t, 6> bytes;  ///< the first of the record
  };
  const Case cases[] = {
      {0x14, 2, 1, 0x30, 3, {0, 1, 2, 0, 0, 0}},                          // GUIDInfo: LID, BlockNum
      {0x15, 2, 1, 0x12, 3, {0, 1, 2, 0, 0, 0}},                          // PortInfo: EndportLID, PortNum
      {0x16, 3U << 16 | 1, 2, 0x33, 7, {0, 2, 0, 1, 3, 0}},               // P_KeyTable: LID, BlockNum, PortNum
      {0x16, 3U << 16 | 1, 1, 0x33, 3, {0, 1, 0, 1, 3, 0}},               // … of a CA: PortNum selects nothing
      {0x17, 0x0203, 2, 0x13, 7, {0, 2, 2, 3, 0, 0}},                     // SLtoVL: LID, InputPortNum, OutputPortNum
      {0x17, 0x0001, 1, 0x13, 1, {0, 1, 0, 1, 0, 0}},                     // … of a CA
      {0x18, 4U << 16 | 3, 2, 0x36, 7, {0, 2, 3, 4, 0, 0}},               // VLArbitration: LID, OutputPortNum, BlockNum
      {0x18, 4U << 16, 1, 0x36, 5, {0, 1, 0, 4, 0, 0}},                   // … of a CA
      {0x19, 0x201, 2, 0x15, 3, {0, 2, 2, 1, 0, 0}},                      // LFT: LID, BlockNum
      {0x1a, 3, 2, 0x16, 3, {0, 2, 0, 3, 0, 0}},                          // RFT
      {0x1b, 2U << 28 | 0x101, 2, 0x17, 0x0b, {0, 2, 0x21, 0x01, 0, 0}},  // MFT: LID, Position, BlockNum
      {0x20, 0, 1, 0x18, 1, {0, 1, 0, 0, 0, 0}},                          // SMInfo: LID
      {0x15, 0x1ff, 2, 0, 0, {}},                                         // there is no port 511
      {0x1b, 0x200, 2, 0, 0, {}},                                         // and no MFT block 512
  };
  for (const Case& c : cases) {
    CAPTURE(c.attribute, c.modifier);
    auto query = sa::record_query(c.attribute, c.modifier, Lid{c.lid});
    REQUIRE(query.has_value() == (c.record != 0));
    if (!query) continue;
    if (Bench::type_of(c.lid) != smp::NodeType::switch_) query->component_mask &= ~query->only_of_switches;
    REQUIRE(query->attribute_id == c.record);
    REQUIRE(query->component_mask == c.mask);
    REQUIRE(std::equal(c.bytes.begin(), c.bytes.end(), query->bytes.begin()));
    REQUIRE(query->offset + query->size <= query->bytes.size());
  }
}

TEST_CASE("an attribute that no record holds is refused, and not sent as an SMP") {
  Bench bench;
  const path::Path path = to_lid(bench, 2);
  const mad::Request request{.path = path, .mgmt_class = mad::mgmt_class::smp, .attribute_id = 0xff90, .payload = {}};
  REQUIRE_THROWS_AS(bench.loop.run(bench.sa.call(request)), Error);
  REQUIRE(bench.smps() == 0);
  REQUIRE(bench.asked.empty());
}

TEST_CASE("a reply has the form of the requested SMP") {
  Bench bench;
  const path::Path path = route(bench, {1});
  const mad::Request request{.path = path, .mgmt_class = mad::mgmt_class::smp_directed, .attribute_id = 0x11, .payload = {}};
  const mad::Reply reply = bench.loop.run(bench.sa.call(request));
  REQUIRE(reply.bytes.size() == mad::packet_size);
  REQUIRE(reply.header().mgmt_class() == mad::mgmt_class::smp_directed);
  REQUIRE(reply.header().method() == mad::method::get_resp);
  REQUIRE(reply.header().attribute_id() == 0x11);
  REQUIRE(reply.header().raw_status() == 0x8000);
  REQUIRE(smp::NodeInfo::unpack(reply.payload()).num_ports == 4);
}

}  // namespace sa_transactor_tests
