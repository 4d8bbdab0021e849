// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What was put into a snapshot comes out of it.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "iba-gen/cc.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "snapshot/writer.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_round_trip_tests {

namespace {

using namespace ib;
using namespace ibtest;
using snapshot::Snapshot;
using snapshot::Writer;

void check_same(const subnet::Subnet& read, const subnet::Subnet& written) {
  REQUIRE(read.nodes().size() == written.nodes().size());
  REQUIRE(read.ports().size() == written.ports().size());
  CHECK(read.start == written.start);
  for (subnet::NodeIndex at = 0; at < written.nodes().size(); ++at) {
    const subnet::Node &a = read.node(at), &b = written.node(at);
    CHECK(a.info == b.info);
    CHECK(a.description() == b.description());
    CHECK(a.switch_info_bytes == b.switch_info_bytes);
    CHECK(a.via == b.via);
    CHECK(a.hops == b.hops);
    CHECK(a.entry_port == b.entry_port);
    CHECK(a.twin == b.twin);
  }
  for (subnet::PortIndex at = 0; at < written.ports().size(); ++at) {
    const subnet::Port &a = read.port(at), &b = written.port(at);
    CHECK(a.peer == b.peer);
    CHECK(a.guid == b.guid);
    CHECK(a.has_info == b.has_info);
    CHECK(a.info_bytes == b.info_bytes);
  }
  for (unsigned lid = 1; lid < 64; ++lid)
    CHECK(read.find_lid(Lid{static_cast<std::uint16_t>(lid)}) == written.find_lid(Lid{static_cast<std::uint16_t>(lid)}));
}

std::string store(const std::string& file, FakeFabric& fabric, const subnet::SweptSubnet& swept, Keys keys = Keys::hidden) {
  Writer writer(file, keys);
  writer.put_origin(fabric.end_port());
  writer.put_fabric(swept);
  writer.commit();
  return file;
}

}  // namespace

TEST_CASE("A model that was stored is read back whole") {
  const TemporaryDirectory directory;
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 3);
  Swept swept(fabric);
  Snapshot snapshot(store(directory.file("one"), fabric, swept));
  const subnet::SweptSubnet stored = snapshot.read_fabric(&fabric.end_port());
  const subnet::Subnet& subnet = stored.subnet;
  check_same(subnet, swept.subnet);
}

TEST_CASE("Only the owner can read a snapshot, which it has the port by which it was taken") {
  const TemporaryDirectory directory;
  SmallFabric small;
  Swept swept(small.fabric);
  const std::string file = store(directory.file("one"), small.fabric, swept);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  Snapshot snapshot(file);
  const sys::EndPort& port = snapshot.end_port();
  CHECK(port.name() == small.fabric.end_port().name());
  CHECK(port.lid == small.fabric.end_port().lid);
  CHECK(port.gids.entries() == small.fabric.end_port().gids.entries());
}

TEST_CASE("Keys are zero in a snapshot unless they are wanted") {
  const TemporaryDirectory directory;
  SmallFabric small;
  constexpr std::uint64_t m_key = 0x1122334455667788;
  small.fabric.node(small.other).ports[1].info.m_key = m_key;
  Swept swept(small.fabric);
  const auto stored_m_key = [&](Keys keys) {
    Snapshot snapshot(store(directory.file(keys == Keys::shown ? "shown" : "hidden"), small.fabric, swept, keys));
    const subnet::SweptSubnet stored = snapshot.read_fabric(&small.fabric.end_port());
    const subnet::Subnet& subnet = stored.subnet;
    return subnet.port(subnet.find_lid(Lid{3})).info().m_key;
  };
  CHECK(stored_m_key(Keys::hidden) == 0);
  CHECK(stored_m_key(Keys::shown) == m_key);
}

TEST_CASE("Keys are zero also where an attribute does not stand at the beginning of what is stored") {
  const TemporaryDirectory directory;
  SmallFabric small;
  Swept swept(small.fabric);
  cc::CongestionKeyInfo info;
  info.cc_key = 0x1122334455667788;
  std::vector<std::uint8_t> mad(mad::packet_size);
  info.pack(MutableBytes(mad).subspan(mad::data_area(mad::mgmt_class::congestion).offset));
  const mad::DataArea area = snapshot::stored_area(mad::mgmt_class::congestion);
  const snapshot::AnswerKey key{.mgmt_class = mad::mgmt_class::congestion, .attribute = cc::CongestionKeyInfo::attribute_id};
  const auto stored_size = [&](Keys keys) {
    const std::string file = directory.file(keys == Keys::shown ? "shown" : "hidden");
    Writer writer(file, keys);
    writer.put_answer(key, Bytes(mad).subspan(area.offset, area.size));
    writer.commit();
    return Snapshot(file).find(key).value().payload.size();  // without the zeros at its end
  };
  CHECK(stored_size(Keys::hidden) == 0);
  CHECK(stored_size(Keys::shown) == mad::data_area(mad::mgmt_class::congestion).offset - area.offset + 8);
}

namespace {

constexpr std::uint64_t failed_m_key = 0x1122334455667788;

/// A sweep with an M_Key, that one node did not answer.
struct FailedWithKey {
  TemporaryDirectory directory;
  SmallFabric small;
  std::unique_ptr<Swept> swept;

  FailedWithKey() {
    small.fabric.node(small.other).faults.silent = true;
    swept = std::make_unique<Swept>(small.fabric);
    path::Path path = swept->failures.at(0).error ? dynamic_cast<const mad::MadError&>(*swept->failures[0].error).path() : path::IbPath();
    path.ib().m_key = failed_m_key;
    std::vector<std::uint8_t> request = mad::to_mad(mad::attribute_request(path, smp::NodeInfo::info(), mad::method::get));
    swept->failures[0].error = std::make_shared<mad::MadTimeout>(request, path, 3, std::chrono::seconds(1));
  }
  static std::uint64_t stored_key(const std::string& file) {
    std::array<std::uint8_t, 8> bytes{};
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    snapshot::Database database(fd.get(), file, snapshot::Database::Mode::read);
    snapshot::Statement row(database, "SELECT request FROM raw_failure");
    REQUIRE(row.step());
    REQUIRE(row.bytes(0).size() == mad::packet_size);
    std::copy_n(row.bytes(0).begin() + 24, bytes.size(), bytes.begin());
    return load_be<std::uint64_t>(bytes.data());
  }
};

}  // namespace

TEST_CASE_METHOD(FailedWithKey, "The key of a request that failed is not in a snapshot without keys, and one that holds it is refused") {
  const std::string shown = store(directory.file("shown"), small.fabric, *swept, Keys::shown);
  const std::string hidden = store(directory.file("hidden"), small.fabric, *swept, Keys::hidden);
  CHECK(stored_key(shown) == failed_m_key);
  CHECK(stored_key(hidden) == 0);
  CHECK_NOTHROW(Snapshot(hidden).read_fabric(nullptr));
  SECTION("Written anew without keys") {
    Snapshot old(shown);
    Writer(directory.file("copy"), Keys::hidden, &old).commit();
    CHECK(stored_key(directory.file("copy")) == 0);
    CHECK_FALSE(Snapshot(directory.file("copy")).has_keys());
    CHECK_NOTHROW(Snapshot(directory.file("copy")).read_fabric(nullptr));
  }
  SECTION("It says that it holds no keys") {
    set_fact(shown, "keys", "hidden");
    CHECK_THROWS_WITH(Snapshot(shown).read_fabric(nullptr), contains("it says that it holds no keys, and holds one"));
  }
}

TEST_CASE("The key of a vendor's MAD is not in a snapshot without keys") {
  const TemporaryDirectory directory;
  const snapshot::AnswerKey key{.mgmt_class = 0x0a, .attribute = GENERATE(std::uint16_t{0x17}, std::uint16_t{0x0f}, std::uint16_t{0xee})};
  std::vector<std::uint8_t> payload(40, 0);
  std::fill_n(payload.begin(), 8, std::uint8_t{0xa5});
  payload[30] = 1;
  const auto stored = [&](Keys keys) {
    const std::string file = directory.file(keys == Keys::shown ? "shown" : "hidden");
    Writer writer(file, keys);
    writer.put_answer(key, payload);
    writer.commit();
    return Snapshot(file).find(key).value();
  };
  CHECK(stored(Keys::shown).payload.at(0) == 0xa5);
  CHECK(stored(Keys::hidden).payload.at(0) == 0);
  CHECK(stored(Keys::hidden).hides_key);
  CHECK(stored(Keys::hidden).payload.at(30) == 1);
  set_fact(directory.file("shown"), "keys", "hidden");
  CHECK_THROWS_WITH(Snapshot(directory.file("shown")).find(key), contains("holds one"));
}

TEST_CASE("Failed requests are stored with their error") {
  const TemporaryDirectory directory;
  SmallFabric small;
  small.fabric.node(small.other).faults.silent = true;
  Swept swept(small.fabric);
  REQUIRE(swept.failures.size() == 1);
  Snapshot snapshot(store(directory.file("one"), small.fabric, swept));
  const subnet::SweptSubnet stored = snapshot.read_fabric(&small.fabric.end_port());
  REQUIRE(stored.failures.size() == 1);
  const subnet::Failure &read = stored.failures[0], &written = swept.failures[0];
  CHECK(read.kind == written.kind);
  CHECK(read.why == written.why);
  CHECK(read.attribute == written.attribute);
  REQUIRE(read.error);
  CHECK(read.error->lines(2) == written.error->lines(2));
  CHECK(mad::unanswered_tries(*read.error) == mad::unanswered_tries(*written.error));
}

TEST_CASE("Two nodes with one GUID, and two ports with one LID, stay two") {
  const TemporaryDirectory directory;
  SmallFabric small;
  small.fabric.node(small.other).info.node_guid = small.fabric.node(small.here).info.node_guid;
  small.fabric.node(small.other).ports[1].info.lid = small.fabric.node(small.here).ports[1].info.lid;
  Swept swept(small.fabric);
  REQUIRE(swept.failed(subnet::Failure::Kind::duplicate_lid) == 1);
  Snapshot snapshot(store(directory.file("one"), small.fabric, swept));
  const subnet::SweptSubnet stored = snapshot.read_fabric(&small.fabric.end_port());
  const subnet::Subnet& subnet = stored.subnet;
  check_same(subnet, swept.subnet);
}

namespace {

/// Asks `transactor` for the NodeInfo at the end of `path`.
struct Outcome {
  std::optional<smp::NodeInfo> value;
  std::shared_ptr<const mad::MadError> error;
};
async::Task<> request_node_info(mad::Transactor& transactor, path::Path path, Outcome& outcome) {
  const mad::Result<smp::NodeInfo> result = co_await transactor.try_subn_get<smp::NodeInfo>(path);
  if (result) {
    outcome.value = *result;
  } else {
    outcome.error = result.shared_error();
  }
}
async::Task<> ask_lft(mad::Transactor& transactor, path::Path path, smp::LinearForwardingTable& table) {
  table = co_await transactor.subn_get<smp::LinearForwardingTable>(path, 0);
}

}  // namespace

TEST_CASE("Requests are answered from a snapshot, by LID and by directed route, through whichever port") {
  const TemporaryDirectory directory;
  TwoWayFabric two;
  Swept swept(two.fabric);
  smp::LinearForwardingTable live, stored;
  {
    Writer writer(directory.file("one"), Keys::hidden);
    writer.put_origin(two.fabric.end_port());
    writer.put_fabric(swept);
    snapshot::Recording recording(*swept.rpc, swept.subnet, writer);
    path::IbPath by_lid;
    by_lid.end_port = &two.fabric.end_port();
    by_lid.dlid = Lid{2};
    by_lid.slid = two.fabric.end_port().lid;
    by_lid.dqpn = by_lid.sqpn = Qpn{0};
    swept.loop.run(ask_lft(recording, by_lid, live));
    writer.commit();
  }
  Snapshot snapshot(directory.file("one"));
  snapshot::SnapshotTransactor answers(snapshot, two.fabric.end_port(), Keys::shown);
  path::IbDrPath route(&two.fabric.end_port());
  route.sqpn = Qpn{0};
  route.hops = 2;
  route.route[1] = 1;
  for (const auto port : {std::uint8_t{2}, std::uint8_t{3}}) {
    route.route[2] = port;
    Outcome from_file, from_node;
    swept.loop.run(request_node_info(answers, route, from_file));
    swept.loop.run(request_node_info(*swept.rpc, route, from_node));
    REQUIRE(from_file.value);
    CHECK(from_file.value->node_guid == from_node.value->node_guid);
    swept.loop.run(ask_lft(answers, route, stored));
    CHECK(stored == live);
  }
  SECTION("A port without a link does not answer") {
    route.route[2] = 4;
    Outcome outcome;
    swept.loop.run(request_node_info(answers, route, outcome));
    REQUIRE(outcome.error);
    CHECK(mad::unanswered_tries(*outcome.error) == 4U);
  }
  SECTION("What was not requested is not made up") {
    route.hops = 1;  // the near switch
    CHECK_THROWS_AS(swept.loop.run(ask_lft(answers, route, stored)), mad::NotRead);
  }
}

TEST_CASE("Files that are no snapshots are refused, and not replaced") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("mine");
  std::ofstream(file) << "thesis";
  CHECK_THROWS_AS(Snapshot(file), UsageError);
  CHECK_THROWS_AS(Writer(file, Keys::hidden), UsageError);
  CHECK(std::filesystem::file_size(file) == 6);
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
  CHECK_THROWS_AS(Snapshot(directory.file("none")), SysError);
}

TEST_CASE("Two writers of one file: the second one fails; a writer that gives up leaves the old file") {
  const TemporaryDirectory directory;
  SmallFabric small;
  Swept swept(small.fabric);
  const std::string file = store(directory.file("one"), small.fabric, swept);
  {
    Writer first(file, Keys::hidden);
    CHECK_THROWS_WITH(Writer(file, Keys::hidden), contains("being written"));
  }
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
  const subnet::SweptSubnet stored = Snapshot(file).read_fabric(nullptr);
  const subnet::Subnet& subnet = stored.subnet;
  CHECK(subnet.nodes().size() == 3);
}

TEST_CASE("What was never sent did not time out, and what the sweep requested without an answer did") {
  const TemporaryDirectory directory;
  SmallFabric small;
  small.fabric.node(small.leaf).faults.ignores = smp::SwitchInfo::attribute_id;
  Swept swept(small.fabric);
  const subnet::NodeIndex leaf = swept.subnet.find_node(Guid{0x100});
  path::IbPath to;
  to.end_port = &small.fabric.end_port();
  to.dlid = Lid{1};
  to.slid = small.fabric.end_port().lid;
  to.dqpn = to.sqpn = Qpn{0};
  {
    Writer writer(directory.file("one"), Keys::hidden);
    writer.put_origin(small.fabric.end_port());
    writer.put_fabric(swept);
    for (const char* part : {"lft", "mft"}) writer.put_part(part);
    // As an earlier version did, which requested no other table of that switch then.
    const mad::MadTimeout error(mad::to_mad(mad::attribute_request(to, smp::LinearForwardingTable::info(), mad::method::get)), to, 3,
                                std::chrono::seconds(1));
    writer.put_failure({.mgmt_class = 1, .attribute = smp::LinearForwardingTable::attribute_id, .node = leaf}, error);
    writer.commit();
  }
  Snapshot snapshot(directory.file("one"));
  snapshot::SnapshotTransactor answers(snapshot, small.fabric.end_port(), Keys::hidden);
  const auto outcome_of = [&](const StructInfo& attribute) {
    const path::Path path = to;
    const mad::Request request = mad::attribute_request(path, attribute, mad::method::get);
    const mad::Result<mad::Reply> reply = swept.loop.run(answers.try_call(request));
    REQUIRE_FALSE(reply);
    return reply.shared_error();
  };
  CHECK(mad::unanswered_tries(*outcome_of(smp::LinearForwardingTable::info())) == 3U);
  CHECK(mad::unanswered_tries(*outcome_of(smp::SwitchInfo::info())) == 4U);
  const auto unsent = outcome_of(smp::MulticastForwardingTable::info());
  CHECK(dynamic_cast<const mad::NotRead*>(unsent.get()) != nullptr);
  CHECK_THAT(unsent->message(), ends_with(": it was not requested, since LinearForwardingTable was not answered"));
}

}  // namespace snapshot_round_trip_tests
