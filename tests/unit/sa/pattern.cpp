// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Patterns made of words select what the typed queries select; names and short forms of records.
#include "sa/pattern.hpp"

#include <array>

#include "base/error.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"

namespace sa_pattern_tests {

using namespace ib;
using ibtest::contains;

namespace {

template <class Query>
void check_same(const sa::Pattern& pattern, const Query& query) {
  using Record = decltype(Query::record);
  std::array<std::uint8_t, Record::wire_size> bytes{};
  query.record.pack(bytes);
  CHECK(pattern.component_mask() == query.component_mask);
  CHECK(std::vector<std::uint8_t>(bytes.begin(), bytes.end()) == std::vector<std::uint8_t>(pattern.bytes().begin(), pattern.bytes().end()));
}

std::vector<std::string> words(std::vector<std::string> list) { return list; }

}  // namespace

TEST_CASE("a pattern of words is the query that the builder makes") {
  sa::Pattern path(sa::PathRecord::info());
  path.match("DGID", "fe80::10:5");
  path.match("sgid", "fe80::10:1");
  path.match("numbPath", std::uint64_t{1});
  path.match("PKey", "0xffff");
  check_same(path, sa::PathRecord::Query().dgid(*parse_gid("fe80::10:5")).sgid(*parse_gid("fe80::10:1")).numb_path(1).p_key(0xffff));
  // IB_PR_COMPMASK_DGID, _SGID, _NUMBPATH and _PKEY of iba/ib_types.h
  CHECK(path.component_mask() == (1U << 2 | 1U << 3 | 1U << 12 | 1U << 13));

  sa::Pattern link(sa::LinkRecord::info());
  link.match("fromLID", "2");
  link.match("fromPort", "0x3");
  check_same(link, sa::LinkRecord::Query().from_lid(Lid{2}).from_port(3));
}

TEST_CASE("members of nested attributes have bits of their own") {
  sa::Pattern node(sa::NodeRecord::info());
  node.match("nodeInfo.portGUID", "0000:0000:0010:0005");
  CHECK(node.component_mask() == 1U << 8);
  node.match("nodeType", "2");  // only nodeInfo has it
  CHECK(node.component_mask() == (1U << 8 | 1U << 4));
  node.match("nodeDescription.nodeString", "Switch1");
  CHECK(node.component_mask() == (1U << 14 | 1U << 8 | 1U << 4));
  const sa::NodeRecord record = sa::NodeRecord::unpack(node.bytes());
  CHECK(record.node_info.port_guid == Guid{0x100005});
  CHECK(record.node_info.node_type == smp::NodeType::switch_);

  sa::Pattern port(sa::PortInfoRecord::info());
  port.match("portInfo.portState", "Active");
  CHECK(sa::PortInfoRecord::unpack(port.bytes()).port_info.port_state == smp::PortState::active);
}

TEST_CASE("elements of arrays have bits of their own") {
  sa::Pattern service(sa::ServiceRecord::info());
  service.match("serviceData8[3]", "7");
  // IB_SR_COMPMASK_SDATA8_3: the first one is bit 7
  CHECK(service.component_mask() == 1U << 10);
  CHECK_THROWS_WITH(service.match("serviceData8[16]", "1"), contains("Cannot set member serviceData8[16] on SAServiceRecord"));
}

TEST_CASE("every component can be matched by its listed name") {
  for (const QueryInfo& type : sa::record_types()) {
    const StructInfo& info = *type.info;
    INFO(type.name.view());
    std::uint64_t all = 0;
    for (const sa::Component& component : sa::components(sa::Pattern(info).form())) {
      INFO(component.member);
      sa::Pattern pattern(info);
      CHECK_FALSE(pattern.matches_on(component.member));
      const FieldKind kind = find_path(pattern.form(), component.member)->field->kind;
      if (kind == FieldKind::structure) continue;
      pattern.match(component.member, kind == FieldKind::gid     ? "::1"
                                      : kind == FieldKind::guid  ? "0x1"
                                      : kind == FieldKind::bytes ? "01"
                                                                 : "1");
      CHECK(pattern.component_mask() == component.mask);
      CHECK((all & component.mask) == 0);
      CHECK(pattern.matches_on(component.member));
      all |= component.mask;
      const auto matches = pattern.matches();
      REQUIRE(matches.size() == 1);
      CHECK(matches[0].component.member == component.member);
      CHECK(matches[0].component.bit == component.bit);
    }
    CHECK(all != 0);
  }
}

TEST_CASE("the GIDs of a MultiPathRecord are added one by one and counted") {
  sa::Pattern pattern(sa::MultiPathRecord::info());
  CHECK(&pattern.form() == &sa::MultiPathRecord::info());
  CHECK(&pattern.answer() == &sa::PathRecord::info());
  CHECK_FALSE(pattern.matches_on("SGID"));
  for (int i = 0; i < 20; ++i) pattern.match("DGID", "fe80::2");
  CHECK_FALSE(pattern.matches_on("SGID"));
  CHECK(pattern.matches_on("DGID"));
  pattern.match("sgid", "fe80::1");
  pattern.match("numbPath", "3");
  CHECK(pattern.matches_on("SGID"));
  REQUIRE(pattern.bytes().size() == 24 + 21 * 16);
  const auto record = sa::MultiPathRecord::unpack(pattern.bytes());
  CHECK(record.sgid_count == 1);
  CHECK(record.dgid_count == 20);
  CHECK(record.numb_path == 3);
  CHECK(to_text(record.sd_gid[0]) == "fe80::1");
  CHECK(to_text(record.sd_gid[1]) == "fe80::2");
  // IB_MPR_COMPMASK_NUMBPATH, SGIDCOUNT, DGIDCOUNT
  CHECK(pattern.component_mask() == (1U << 6 | 1U << 19 | 1U << 20));
  CHECK_THROWS_AS(pattern.match("SGID", "x"), UsageError);
  CHECK_THROWS_WITH(pattern.match("DLID", "1"), contains("SDGID, SGID, DGID"));
}

TEST_CASE("a query for TraceRecords holds a path") {
  sa::Pattern pattern(sa::TraceRecord::info());
  pattern.match("SLID", "1");
  pattern.match("DLID", "2");
  check_same(pattern, sa::PathRecord::Query().slid(Lid{1}).dlid(Lid{2}));
  CHECK(&pattern.record() == &sa::TraceRecord::info());
  CHECK(&pattern.answer() == &sa::TraceRecord::info());
}

TEST_CASE("matches read as python-rdma shows them") {
  sa::Pattern path(sa::PathRecord::info());
  path.match("SGID", "fe80::10:1");
  path.match("numbPath", "1");
  const auto matches = path.matches();
  REQUIRE(matches.size() == 2);
  CHECK(matches[0].shown == "GID('fe80::10:1')");
  CHECK(matches[0].component.name == "sgid");
  CHECK(matches[1].shown == "1");
}

TEST_CASE("an MTU without a selector is matched exactly, with one as the selector says") {
  sa::Pattern path(sa::PathRecord::info());
  path.match("MTU", "4");
  path.match("rate", "3");
  path.match("rateSelector", "less_than");
  path.complete_selectors();
  const sa::PathRecord record = sa::PathRecord::unpack(path.bytes());
  CHECK(static_cast<unsigned>(record.mtu_selector) == 2);
  CHECK(static_cast<unsigned>(record.rate_selector) == 1);
  CHECK_FALSE(path.matches_on("packetLifeTimeSelector"));
}

TEST_CASE("a member that cannot be matched is refused with a list of possible members") {
  sa::Pattern node(sa::NodeRecord::info());
  CHECK_THROWS_WITH(node.match("zz", "1"), contains("Cannot set member zz on SANodeRecord. Try one of LID, nodeInfo.baseVersion,"));
  CHECK_THROWS_WITH(node.match("nodeInfo", "1"), contains("Cannot set member nodeInfo"));
  CHECK_THROWS_WITH(node.match("\x1b[2J", "1"), contains("\\x1b[2J"));
  CHECK_THROWS_AS(node.match("LID", "zz"), UsageError);
  CHECK_THROWS_AS(node.match("LID", "65536"), UsageError);
  CHECK_THROWS_AS(node.match("nodeInfo.nodeType", "256"), UsageError);
}

TEST_CASE("records by the names of both references") {
  for (const auto& [word, name] : {std::pair{"NR", "NodeRecord"},
                                   {"nodere", "NodeRecord"},
                                   {"N", "NodeRecord"},
                                   {"SANodeRecord", "NodeRecord"},
                                   {"PIR", "PortInfoRecord"},
                                   {"SL2VL", "SL2VLTableRecord"},
                                   {"swi", "SwitchInfo"},
                                   {"SWIR", "SwitchInfoRecord"},
                                   {"SwitchInfoRecord", "SwitchInfoRecord"},
                                   {"SMInfo", "SMInfo"},
                                   {"SMIR", "SMInfoRecord"},
                                   {"GIR", "GUIDInfoRecord"},
                                   {"ServiceA", "ServiceAssociationRecord"},
                                   {"RFT", "RFTRecord"}}) {
    INFO(word);
    CHECK(sa::find_record_type(word).name == name);
  }
  CHECK_THROWS_WITH(sa::find_record_type("zz"), "Unknown operation 'zz'");
  CHECK_THROWS_WITH(sa::find_record_type("zz", "the page"), "Unknown operation 'zz' (the page lists all)");
  CHECK_THROWS_WITH(sa::find_record_type("S"), "Ambiguous operation 's'");
  CHECK_THROWS_WITH(sa::find_record_type(""), "Ambiguous operation ''");
}

TEST_CASE("short forms choose by the members in their order") {
  using Taken = std::vector<std::pair<std::string_view, std::string>>;
  auto rest = words({"2/1", "x"});
  CHECK(sa::take_argument(sa::find_record_type("PIR"), rest) == Taken{{"endportLID", "2"}, {"portNum", "1"}});
  CHECK(rest == words({"x"}));
  rest = words({"/1"});
  CHECK(sa::take_argument(sa::find_record_type("PIR"), rest) == Taken{{"portNum", "1"}});
  rest = {"MF0;leaf01:SB7800/U1/20"};  // a name with a slash
  CHECK(sa::take_argument(sa::find_record_type("PIR"), rest) == Taken{{"endportLID", "MF0;leaf01:SB7800/U1"}, {"portNum", "20"}});
  rest = words({"/", "4"});
  CHECK(sa::take_argument(sa::find_record_type("LR"), rest) == Taken{{"toLID", "4"}});
  rest = words({"2/1/2"});
  CHECK(sa::take_argument(sa::find_record_type("SL2VL"), rest) == Taken{{"LID", "2"}, {"inputPortNum", "1"}, {"outputPortNum", "2"}});
  rest = words({"5"});
  CHECK(sa::take_argument(sa::find_record_type("PR"), rest).empty());
  CHECK(rest.size() == 1);
  rest = words({"2/1/0"});
  CHECK_THROWS_WITH(sa::take_argument(sa::find_record_type("PIR"), rest), "Argument '2/1/0' did not match [LID]/[PORT]");
}

TEST_CASE("every short form names members that can be matched") {
  for (const QueryInfo& type : sa::record_types()) {
    INFO(type.name.view());
    CHECK(type.argument.empty() == type.members.empty());
    auto rest = words({"1/2/3", "4/5"});
    if (type.members.view().find('/') == std::string_view::npos) rest = words({"1"});
    sa::Pattern pattern(*type.info);
    for (auto part : std::vector<std::string>{"7", "7/7", "7/7/7"}) {
      std::vector<std::string> given{part, part};
      try {
        for (const auto& [member, text] : sa::take_argument(type, given))
          CHECK_NOTHROW(member == "subscriberGID" ? pattern.match(member, "::1") : pattern.match(member, std::uint64_t{7}));
      } catch (const UsageError&) {
        CHECK(std::count(part.begin(), part.end(), '/') > 0);
      }
    }
  }
}

TEST_CASE("assignments are taken from the end of the words") {
  std::vector<std::string> words{"2/1", "LID=3", "x", "SGID=a=b", "SL="};
  CHECK(sa::take_assignments(words) == std::vector<std::pair<std::string, std::string>>{{"SGID", "a=b"}, {"SL", ""}});
  CHECK(words == std::vector<std::string>{"2/1", "LID=3", "x"});
}

}  // namespace sa_pattern_tests
