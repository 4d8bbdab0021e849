// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading the tables of an SA, and answers from stored tables, also from tables that no opensm gives. Some answers are compared with those
// of opensm in tests/fabric/test_stored_tables.py.
#include "sa/stored_tables.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "async/loop.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace sa_stored_tables_tests {

using namespace ib;
using ibtest::contains;

namespace {

constexpr Lid our_lid{8};

sys::EndPort make_end_port(unsigned lmc) {
  sys::EndPort port;
  port.lid = our_lid;
  port.lmc = lmc;
  port.gids = {Gid::from(link_local_prefix, Guid{0x101})};
  return port;
}

Gid gid(std::uint64_t guid) { return Gid::from(link_local_prefix, Guid{guid}); }
Lid lid(unsigned number) { return Lid{static_cast<std::uint16_t>(number)}; }

/// An SA that answers each request by a function.
class Scripted final : public mad::Transactor {
 public:
  using Answer = std::function<mad::Result<mad::Reply>(const mad::Request&)>;
  Scripted(const sys::EndPort& port, Answer answer) : Transactor(port), answer_(std::move(answer)) {}
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    asked.push_back(*find_attribute(request.mgmt_class, request.class_version, request.attribute_id));
    keys.push_back(request.path.ib().sm_key);
    co_return answer_(request);
  }
  std::vector<StructInfo> asked;
  std::vector<std::uint64_t> keys;

 private:
  Answer answer_;
};

/// A table without records, or what exists once.
mad::Result<mad::Reply> empty_answer(const mad::Request& request) {
  const Bytes none;
  if (request.method == mad::method::get) return sa::table_reply(request, 72, std::array{none});
  return sa::table_reply(request, 72, {});
}
mad::Result<mad::Reply> no_answer(const mad::Request& request) {
  using namespace std::chrono_literals;
  return std::shared_ptr<const mad::MadError>(std::make_shared<mad::MadTimeout>(mad::to_mad(request), request.path, 3, 3s));
}

std::vector<const QueryInfo*> all_tables() {
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  return tables;
}

std::vector<sa::TableFailure> read(Scripted& transactor, sa::TableReading reading) {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  return loop.run(sa::read_tables(transactor, all_tables(), std::move(reading)));
}

/// Stored tables, and queries of them.
struct Bench {
  explicit Bench(unsigned lmc = 0) : port(make_end_port(lmc)), transactor(port, empty_answer) {}

  template <class Record>
  void keep(std::string_view name, const std::vector<Record>& records, bool torn = false) {
    const mad::Request request = sa::sa_request(transactor.sa_path(), Record::info(), mad::method::get_table, {}, 0);
    std::vector<std::uint8_t> bytes(Record::wire_size * records.size());
    std::vector<Bytes> rows;
    for (const Record& record : records) {
      const MutableBytes row = MutableBytes(bytes).subspan(rows.size() * Record::wire_size, Record::wire_size);
      record.pack(row.first<Record::wire_size>());
      rows.push_back(row);
    }
    kept.insert_or_assign(std::string(name), sa::table_reply(request, (Record::wire_size + 7) / 8 * 8, rows, torn));
  }

  /// The stored answer; why there is none goes to `why`.
  template <class Query>
  mad::Result<mad::Reply> ask(const Query& query, std::uint8_t method = mad::method::get_table, std::uint64_t key = 0) {
    using Record = decltype(Query::record);
    std::array<std::uint8_t, Record::wire_size> bytes{};
    query.record.pack(bytes);
    path::Path path = transactor.sa_path();
    path.ib().sm_key = key;
    const mad::Request request = sa::sa_request(path, Record::info(), method, bytes, query.component_mask);
    why = answers.not_in_table(request).value_or("");
    unread = answers.is_unread(request);
    if (!why.empty()) return no_answer(request);
    return answers.answer(request);
  }
  template <class Query>
  auto records(const Query& query, std::uint64_t key = 0) {
    const mad::Result<mad::Reply> reply = ask(query, mad::method::get_table, key);
    INFO(why);
    REQUIRE(reply);
    return sa::detail::unpacked_table<decltype(Query::record)>(*reply).records;
  }
  template <class Query>
  std::uint16_t status(const Query& query, std::uint8_t method = mad::method::get, std::uint64_t key = 0) {
    const mad::Result<mad::Reply> reply = ask(query, method, key);
    return reply ? std::uint16_t{0} : reply.error().status();
  }

  sys::EndPort port;
  Scripted transactor;
  std::map<std::string, mad::Result<mad::Reply>, std::less<>> kept;
  std::string why;
  bool unread = false;
  sa::StoredAnswers answers{port, [this](const QueryInfo& table) -> std::optional<mad::Result<mad::Reply>> {
                              const auto found = kept.find(sa::table_name(table));
                              if (found == kept.end()) return std::nullopt;
                              return found->second;
                            }};
};

sa::NodeRecord node(unsigned number, smp::NodeType type) {
  sa::NodeRecord record;
  record.lid = lid(number);
  record.node_info.node_type = type;
  record.node_info.port_guid = Guid{0x100 + number};
  return record;
}

sa::PortInfoRecord port_info(unsigned number, unsigned port, unsigned lmc) {
  sa::PortInfoRecord record;
  record.endport_lid = lid(number);
  record.port_num = static_cast<std::uint8_t>(port);
  record.port_info.lmc = static_cast<std::uint8_t>(lmc);
  record.port_info.m_key = 0x1234;
  return record;
}

sa::PathRecord path_between(unsigned from, unsigned to, std::uint64_t guid) {
  sa::PathRecord path;
  path.sgid = gid(0x101);
  path.dgid = gid(guid);
  path.slid = lid(from);
  path.dlid = lid(to);
  path.p_key = 0xffff;
  path.mtu = smp::Mtu::mtu_2048;
  path.rate = sa::Rate::gbps_40;
  path.packet_life_time = 18;
  path.reversible = 1;
  return path;
}

}  // namespace

TEST_CASE("every table has a name and is requested once") {
  std::set<std::string_view> names;
  for (const QueryInfo& table : sa::stored_table_infos()) {
    CHECK(names.insert(sa::table_name(table)).second);
    CHECK(sa::find_stored_table(sa::table_name(table)) == &table);
  }
  CHECK(sa::find_stored_table("zz") == nullptr);
  const sys::EndPort port = make_end_port(0);
  Scripted sa(port, empty_answer);
  std::set<std::string_view> kept;
  std::size_t last = 0;
  sa::TableReading reading;
  reading.keep = [&](const QueryInfo& table, const mad::Reply&) { kept.insert(sa::table_name(table)); };
  reading.progress = [&](std::size_t done, std::size_t all) {
    CHECK(done == ++last);
    CHECK(all == names.size());
  };
  CHECK(read(sa, reading).empty());
  CHECK(kept == names);
  CHECK(sa.asked.size() == names.size());
  CHECK(last == names.size());
  // P_Keys, members, subscribers.
  CHECK(std::ranges::count(sa.keys, 1U) == 3);
  CHECK(std::ranges::count(sa.keys, 0U) + 3 == static_cast<std::ptrdiff_t>(names.size()));
}

TEST_CASE("the key of the SA path is used, and keys in records take one too") {
  const sys::EndPort port = make_end_port(0);
  Scripted sa(port, empty_answer);
  sa.sa_path().ib().sm_key = 77;
  sa::TableReading reading;
  reading.with_keys = true;
  CHECK(read(sa, reading).empty());
  CHECK(std::ranges::count(sa.keys, 77U) == 5);
  CHECK(std::ranges::count(sa.keys, 0U) + 5 == static_cast<std::ptrdiff_t>(sa.keys.size()));
}

TEST_CASE("a table that fails does not stop the others; one that takes no key comes without it") {
  const sys::EndPort port = make_end_port(0);
  Scripted sa(port, [](const mad::Request& request) -> mad::Result<mad::Reply> {
    if (request.path.ib().sm_key != 0) return no_answer(request);
    if (request.attribute_id == sa::NodeRecord::attribute_id) return sa::error_reply(request, 0x000c);
    if (request.attribute_id != sa::LinkRecord::attribute_id) return empty_answer(request);
    mad::Result<mad::Reply> cut = empty_answer(request);
    cut->bytes.resize(20);
    return cut;
  });
  std::set<std::string_view> kept;
  sa::TableReading reading;
  reading.keep = [&](const QueryInfo& table, const mad::Reply&) { kept.insert(sa::table_name(table)); };
  const std::vector<sa::TableFailure> failures = read(sa, reading);
  std::vector<std::string_view> failed;
  for (const sa::TableFailure& failure : failures) failed.push_back(sa::table_name(*failure.table));
  CHECK(failed == std::vector<std::string_view>{"NodeRecord", "LinkRecord", "PKeyTableRecord", "MCMemberRecord"});
  CHECK(failures[0].error->status() == 0x000c);
  CHECK(failures[1].error == nullptr);
  CHECK_THAT(failures[1].why, contains("ends within its header"));
  CHECK(dynamic_cast<const mad::MadTimeout*>(failures[2].error.get()) != nullptr);
  CHECK(kept.contains("InformInfoRecord"));
  CHECK(kept.size() + failed.size() == all_tables().size());
}

TEST_CASE("an SA that is silent from the first query on, or falls silent, gets no further one") {
  const sys::EndPort port = make_end_port(0);
  const std::size_t answers = GENERATE(std::size_t{0}, std::size_t{5});
  std::size_t asked = 0;
  Scripted sa(port, [&](const mad::Request& request) { return asked++ < answers ? empty_answer(request) : no_answer(request); });
  std::size_t kept = 0;
  sa::TableReading reading;
  reading.keep = [&](const QueryInfo&, const mad::Reply&) { ++kept; };
  const std::vector<sa::TableFailure> failures = read(sa, std::move(reading));
  CHECK(kept == answers);
  const std::size_t in_vain = sa.asked.size() - answers;
  CHECK(in_vain >= 1);
  CHECK(in_vain <= (answers == 0 ? 1U : 4U));  // of those that are sent together
  REQUIRE(failures.size() == all_tables().size() - answers);
  REQUIRE(failures.size() > in_vain + 3);
  for (std::size_t at = in_vain; at < failures.size(); ++at) CHECK(failures[at].error == failures.back().error);
}

TEST_CASE("hidden keys are zero in every record, and nothing else is") {
  Bench bench;
  bench.keep("PortInfoRecord", std::vector{port_info(1, 1, 0), port_info(2, 1, 0)});
  mad::Reply reply = *bench.kept.at("PortInfoRecord");
  store_be(&reply.bytes[36], std::uint64_t{7});
  sa::hide_keys(*sa::find_stored_table("PortInfoRecord"), reply.bytes);
  CHECK(load_be<std::uint64_t>(&reply.bytes[36]) == 0);
  const auto ports = sa::detail::unpacked_table<sa::PortInfoRecord>(reply).records;
  REQUIRE(ports.size() == 2);
  for (unsigned i = 0; i < 2; ++i) {
    sa::PortInfoRecord expected = port_info(i + 1, 1, 0);
    expected.port_info.m_key = 0;
    CHECK(ports[i] == expected);
  }
  std::vector<std::uint8_t> short_mad(30, 1);
  sa::hide_keys(*sa::find_stored_table("PortInfoRecord"), short_mad);
  CHECK(short_mad.front() == 1);
}

TEST_CASE("records are found by the base LID of their port; none and several are the SA's errors") {
  Bench bench(2);
  bench.keep("NodeRecord", std::vector{node(8, smp::NodeType::channel_adapter), node(12, smp::NodeType::channel_adapter)});
  const auto nodes = bench.records(sa::NodeRecord::Query().lid(lid(12)));
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].lid == lid(12));
  CHECK(bench.records(sa::NodeRecord::Query().lid(lid(13))).empty());  // an SA may find the port of LIDs 12 to 15
  CHECK(bench.status(sa::NodeRecord::Query().lid(lid(16))) == 0x0300);
  CHECK(bench.status(sa::NodeRecord::Query()) == 0x0400);
  const mad::Result<mad::Reply> one = bench.ask(sa::NodeRecord::Query().lid(lid(8)), mad::method::get);
  CHECK(one->bytes.size() == mad::packet_size);
  CHECK(one->header().method() == mad::method::get_resp);
  CHECK(sa::NodeRecord::unpack(one->payload()).lid == lid(8));
}

TEST_CASE("a table that was read with a key is found without one") {
  Bench bench;
  sa::PKeyTableRecord keys;
  keys.lid = lid(4);
  bench.keep("PKeyTableRecord", std::vector{keys});
  CHECK(bench.records(sa::PKeyTableRecord::Query().lid(lid(4)).block_num(0)).size() == 1);
  CHECK(bench.records(sa::PKeyTableRecord::Query().lid(lid(4)).block_num(1)).empty());
  sa::MCMemberRecord member;
  member.port_gid = gid(5);
  member.join_state = 1;
  bench.keep("MCMemberRecord", std::vector{member});
  bench.keep("MCMemberRecord groups", std::vector<sa::MCMemberRecord>(2));
  CHECK(bench.records(sa::MCMemberRecord::Query()).size() == 2);
  CHECK(bench.records(sa::MCMemberRecord::Query(), 1)[0] == member);
  const auto members = bench.records(sa::MCMemberRecord::Query().port_gid(gid(5)));
  REQUIRE(members.size() == 1);
  CHECK(members[0] == member);
  CHECK(bench.records(sa::MCMemberRecord::Query().port_gid(gid(6))).empty());
}

TEST_CASE("a request that no table can answer is refused with the reason") {
  Bench bench;
  sa::ServiceRecord service;
  bench.keep("ServiceRecord", std::vector{service});
  bench.keep("PathRecord", std::vector{path_between(8, 1, 0x102)});
  const auto told = [&](const auto& query, std::uint8_t method = mad::method::get_table) {
    static_cast<void>(bench.ask(query, method));
    CHECK(bench.unread == (bench.why == "No NodeRecord was read."));
    return bench.why;
  };
  CHECK(told(sa::NodeRecord::Query()) == "No NodeRecord was read.");
  CHECK_THAT(told(sa::ServiceRecord::Query(), mad::method::set), contains("needs the subnet administrator"));
  CHECK_THAT(told(sa::ServiceRecord::Query(), mad::method::delete_), contains("needs the subnet administrator"));
  CHECK_THAT(told(sa::MultiPathRecord::Query(), mad::method::get_multi), contains("SubnAdmGetMulti"));
  CHECK_THAT(told(sa::TraceRecord::Query(), mad::method::get_trace_table), contains("SubnAdmGetTraceTable"));
  CHECK_THAT(told(sa::RandomForwardingTableRecord::Query()), contains("0x0016 are in no table"));
  CHECK_THAT(told(sa::ServiceRecord::Query().service_key(gid(1))), contains("keys of ServiceRecords were not read"));
  CHECK_THAT(told(sa::PathRecord::Query()), contains("Only paths from fe80::101"));
  CHECK_THAT(told(sa::PathRecord::Query().sgid(gid(0x102))), contains("Only paths from"));
  CHECK_THAT(told(sa::PathRecord::Query().sgid(gid(0x101)).slid(lid(9))), contains("Only paths from"));
  CHECK_THAT(told(sa::PathRecord::Query().sgid(gid(0x101)).sl(4)), contains("on SL 4"));
  CHECK_THAT(told(sa::PathRecord::Query().sgid(gid(0x101)).qos_class(1)), contains("QoS class"));
  bench.keep("PortInfoRecord", std::vector{port_info(1, 1, 0)});
  CHECK_THAT(told(sa::PortInfoRecord::Query().options(0x80)), contains("full PortInfo"));
}

TEST_CASE("the failure of a table is the failure of every query for it") {
  Bench bench;
  const mad::Request request = sa::sa_request(bench.transactor.sa_path(), sa::NodeRecord::info(), mad::method::get_table, {}, 0);
  bench.kept.emplace("NodeRecord", sa::error_reply(request, 0x000c));
  bench.kept.emplace("LinkRecord", no_answer(request));
  const mad::Result<mad::Reply> refused = bench.ask(sa::NodeRecord::Query().lid(lid(7)), mad::method::get);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status() == 0x000c);
  CHECK(refused.error().request()[3] == mad::method::get);
  CHECK(dynamic_cast<const mad::MadTimeout*>(bench.ask(sa::LinkRecord::Query()).shared_error().get()) != nullptr);
}

TEST_CASE("a torn table makes torn tables, and has single records only as far as it goes") {
  Bench bench;
  bench.keep("NodeRecord", std::vector{node(1, smp::NodeType::switch_)}, true);
  const mad::Result<mad::Reply> all = bench.ask(sa::NodeRecord::Query());
  REQUIRE(all);
  CHECK(sa::detail::unpacked_table<sa::NodeRecord>(*all).torn);
  CHECK(bench.status(sa::NodeRecord::Query().lid(lid(1))) == 0);
  static_cast<void>(bench.ask(sa::NodeRecord::Query().lid(lid(2)), mad::method::get));
  CHECK(bench.why == "The table of NodeRecords did not arrive whole.");
}

TEST_CASE("a damaged table is an error") {
  Bench bench;
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, std::size_t{55}}) {
    bench.kept.insert_or_assign("SMInfoRecord", mad::Reply{std::vector<std::uint8_t>(size, 3), {}});
    CHECK_THROWS_WITH(bench.ask(sa::SMInfoRecord::Query()), contains("ends within its header"));
  }
  bench.kept.insert_or_assign("ClassPortInfo", mad::Reply{std::vector<std::uint8_t>(50), {}});
  bench.keep("PathRecord", std::vector{path_between(8, 1, 0x102)});
  CHECK_THROWS_WITH(bench.ask(sa::PathRecord::Query().sgid(gid(0x101)).qos_class(1)), contains("ends within its header"));
}

TEST_CASE("a query selects stored paths; what it says of MTU and rate is compared with theirs") {
  Bench bench(1);
  std::vector<sa::PathRecord> paths;
  for (const unsigned from : {8U, 9U}) {
    for (const unsigned to : {20U, 21U}) paths.push_back(path_between(from, to, 0x102));
  }
  paths.push_back(path_between(8, 30, 0x103));
  paths.back().reversible = 0;
  bench.keep("PathRecord", paths);
  using Pairs = std::vector<std::pair<unsigned, unsigned>>;
  const auto pairs = [&](const sa::PathRecord::Query& query) {
    Pairs result;
    for (const sa::PathRecord& path : bench.records(query)) result.emplace_back(path.slid.value, path.dlid.value);
    return result;
  };
  const auto ours = [] { return sa::PathRecord::Query().sgid(gid(0x101)); };
  CHECK(pairs(ours()) == Pairs{{8, 20}, {8, 21}, {9, 20}, {9, 21}, {8, 30}});
  CHECK(pairs(ours().numb_path(1)) == Pairs{{8, 20}, {8, 30}});
  CHECK(pairs(ours().numb_path(3)) == Pairs{{8, 20}, {8, 21}, {9, 20}, {8, 30}});
  CHECK(pairs(ours().dlid(lid(21))) == Pairs{{8, 21}, {9, 21}});
  CHECK(pairs(sa::PathRecord::Query().slid(lid(9)).dlid(lid(20))) == Pairs{{9, 20}});
  CHECK(pairs(ours().reversible(1).numb_path(1)) == Pairs{{8, 20}});
  CHECK(pairs(ours().reversible(0).dgid(gid(0x103))) == Pairs{{8, 30}});
  CHECK(pairs(ours().p_key(0x7fff).sl(0).dgid(gid(0x103))) == Pairs{{8, 30}});
  CHECK(bench.status(ours().dgid(gid(0x102))) == 0);  // Get: one path is enough
  CHECK(bench.status(ours().dgid(gid(0x104))) == 0x0300);
  const auto fast = [&](sa::Selector selector, sa::Rate rate) {
    return pairs(ours().dgid(gid(0x103)).rate_selector(selector).rate(rate)).size();
  };
  CHECK(fast(sa::Selector::greater_than, sa::Rate::gbps_20) == 1);
  CHECK(fast(sa::Selector::exactly, sa::Rate::gbps_20) == 0);                 // an SA may offer it with the lower rate
  CHECK(pairs(ours().dgid(gid(0x103)).rate(sa::Rate::gbps_20)).size() == 1);  // no selector
}

}  // namespace sa_stored_tables_tests
