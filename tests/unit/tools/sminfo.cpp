// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo in both dialects on a fabric in memory: what it prints of a manager, what it sends one, and how it fails.
#include <nlohmann/json.hpp>

#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_sminfo_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::ibtool;
using nlohmann::json;

namespace {

/// A switch (LID 1), where the host's port says that the subnet manager is, with the host of the test (LID 2) and another one (LID 3).
struct Fabric : ibtest::SmallFabric {
  Fabric() {
    for (const auto node : {leaf, here}) {
      smp::SMInfo info;
      info.guid = fabric.port_guid(node, node == leaf ? 0 : 1);
      info.act_count = 7;
      info.priority = 3;
      info.sm_state = smp::SMState::master;
      info.sm_key = 0x1122334455667788;
      fabric.node(node).sm_info = info;
    }
  }
  /// What the last SubnSet carried, and its attribute modifier.
  smp::SMInfo last_set() const { return smp::SMInfo::unpack(Bytes(fabric.sets.back()).subspan(64, smp::SMInfo::wire_size)); }
  std::uint32_t last_modifier() const { return load_be<std::uint32_t>(&fabric.sets.back()[20]); }
};

}  // namespace

TEST_CASE("sminfo: the manager in both dialects") {
  Fabric f;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"sminfo"}, {"sminfo", "1"}}) {
    CHECK(ibtool(f.fabric, words).out ==
          "sminfo: sm lid 1 sm guid 0000:0000:0000:0100, activity count 7 priority 3 state 3 (Master) on 'leaf 1'\n");
    CHECK(diags(f.fabric, words).out == "sminfo: sm lid 1 sm guid 0x100, activity count 7 priority 3 state 3 SMINFO_MASTER\n");
  }
  // Along a directed route ibtool looks the LID up.
  CHECK_THAT(ibtool(f.fabric, {"sminfo", "0,"}).out, ibtest::starts_with("sminfo: sm lid 2 sm guid 0000:0000:0000:0201,"));
  CHECK_THAT(diags(f.fabric, {"sminfo", "-D", "0"}).out, ibtest::starts_with("sminfo: sm lid 0 sm guid 0x201,"));
  f.fabric.node(f.leaf).sm_info->sm_state = static_cast<smp::SMState>(9);
  CHECK_THAT(diags(f.fabric, {"sminfo"}).out, contains("state 9 ???\n"));
}

TEST_CASE("sminfo --all: all that the SA knows, as they answer, the master first") {
  Fabric f;
  ibtest::FakeSa sa(f.fabric);
  f.fabric.node(f.leaf).sm_info->sm_state = smp::SMState::standby;
  f.fabric.node(f.leaf).sm_info->priority = 5;
  sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute != sa::SMInfoRecord::attribute_id) return;
    for (const std::uint16_t lid : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
      sa::SMInfoRecord record;
      record.lid = Lid{lid};
      record.sm_info.priority = 9;  // the record is older than what the manager answers
      record.sm_info.sm_state = smp::SMState::standby;
      ibtest::FakeSa::Record bytes(sa::SMInfoRecord::info().bytes);
      record.pack(bytes);
      records.push_back(bytes);
    }
  };
  const ibtest::Outcome all = ibtool(f.fabric, {"sminfo", "--all"});
  CHECK(all.out ==
        "Master (3)  priority 3  activity count 7        LID 2     0000:0000:0000:0201 'here'\n"
        "Standby (2) priority 9  activity count 0        LID 3     0000:0000:0000:0000 'other': does not answer; this is what the SA's "
        "record "
        "says\n"
        "Standby (2) priority 5  activity count 7        LID 1     0000:0000:0000:0100 'leaf 1'\n");
  CHECK(all.status == 4);
  const json document = json::parse(ibtool(f.fabric, {"sminfo", "--all", "--json"}).out);
  CHECK(document["managers"].size() == 3);
  CHECK(document["managers"][1]["silent"] == true);
  CHECK(document["managers"][0]["data"]["sm_state_text"] == "Master");
  CHECK(document["managers"][0]["data"]["sm_key"].is_null());
  const ibtest::Outcome table = ibtool(f.fabric, {"sminfo", "--all", "--columns", "lid,silent,data.priority,data.sm_state", "--sort=lid"});
  CHECK(table.status == 4);
  CHECK(table.out ==
        "LID  SILENT  PRIORITY  STATE\n  1  no             5  Standby\n  2  no             3  Master\n  3  yes            9  Standby\n");
  CHECK_THAT(ibtool(f.fabric, {"sminfo", "--all", "--format", "csv"}).out,
             ibtest::starts_with("lid,node_description,silent,attribute,data.guid"));
  CHECK(ibtool(f.fabric, {"sminfo", "--top", "1"}).status == 2);
  CHECK(ibtool(f.fabric, {"sminfo", "--all", "1"}).status == 2);
  sa.silent = true;
  CHECK_THAT(ibtool(f.fabric, {"sminfo", "--all"}).err, contains("ibtool health looks for them in a sweep"));
}

TEST_CASE("sminfo: a Set keeps what was read, and infiniband-diags' one does not") {
  Fabric f;
  const auto ours = ibtool(f.fabric, {"sminfo", "1", "4", "-p", "5", "--sminfo-smkey", "9"});
  CHECK(ours.status == 0);
  CHECK(f.last_modifier() == 4);
  CHECK(f.last_set().priority == 5);
  CHECK(f.last_set().act_count == 7);
  CHECK(f.last_set().sm_state == smp::SMState::master);
  CHECK(f.last_set().sm_key == 9);
  CHECK(ours.out ==
        "sminfo: sm lid 1 sm guid 0000:0000:0000:0100, activity count 7 priority 3 state 3 (Master) on 'leaf 1'\n"
        "sminfo: sm lid 1 sm guid 0000:0000:0000:0100, activity count 7 priority 5 state 3 (Master) on 'leaf 1'\n");
  CHECK(diags(f.fabric, {"sminfo", "-p", "0x16", "1", "3"}).out ==
        "sminfo: sm lid 1 sm guid 0x100, activity count 0 priority 6 state 2 SMINFO_STANDBY\n");
  CHECK(f.last_modifier() == 3);
  CHECK(f.last_set().sm_state == smp::SMState::standby);
  CHECK(f.fabric.sets.size() == 2);
  // The modifier 0 is none, by infiniband-diags' name alone; it reads decimal numbers.
  CHECK(diags(f.fabric, {"sminfo", "1", "0x3"}).status == 0);
  CHECK(f.fabric.sets.size() == 2);
  CHECK(ibtool(f.fabric, {"sminfo", "1", "0"}).status == 0);
  CHECK(f.fabric.sets.size() == 3);
}

TEST_CASE("sminfo: options that set nothing, and operands that are wrong") {
  Fabric f;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"sminfo", "-p", "5"}, {"sminfo", "1", "2", "3"}, {"sminfo", "1", "4294967296"}, {"sminfo", "1", "x"}, {"sminfo", "zz"}}) {
    CAPTURE(words);
    const auto done = ibtool(f.fabric, words);
    CHECK(done.status == 2);
    CHECK(done.out.empty());
  }
  CHECK_THAT(ibtool(f.fabric, {"sminfo", "1", "x"}).err, contains("#2 'x' - ATTR_MOD: 'x' is not an integer"));
  CHECK(diags(f.fabric, {"sminfo", "-p", "5"}).status == 0);
  CHECK(diags(f.fabric, {"sminfo", "zz"}).out == "sminfo: iberror: failed: can't resolve destination port zz\n");
  CHECK(f.fabric.sets.empty());
}

TEST_CASE("sminfo: no answer, or no manager") {
  Fabric f;
  f.fabric.node(f.leaf).faults.silent = true;
  CHECK(ibtool(f.fabric, {"sminfo"}).status == 3);
  const auto silent = diags(f.fabric, {"sminfo"});
  CHECK(silent.status == 255);
  CHECK(silent.out == "sminfo: iberror: failed: query\n");
  CHECK_THAT(silent.err, contains("mad_rpc: _do_madrpc failed; dport (Lid 1)"));
  CHECK(ibtool(f.fabric, {"sminfo", "3"}).status == 3);
  CHECK(diags(f.fabric, {"sminfo", "3"}).out == "sminfo: iberror: failed: query\n");
}

TEST_CASE("sminfo: JSON has the attribute, and hides the key") {
  Fabric f;
  const json hidden = json::parse(ibtool(f.fabric, {"sminfo", "--json"}).out);
  CHECK(hidden["lid"] == 1);
  CHECK(hidden["attribute"] == "SMPSMInfo");
  CHECK(hidden["data"]["sm_state_text"] == "Master");
  CHECK(hidden["data"]["sm_key"].is_null());
  CHECK_FALSE(json::parse(ibtool(f.fabric, {"sminfo", "--json", "-K"}).out)["data"]["sm_key"].is_null());
}

TEST_CASE("sminfo: a full disk is a failure in both dialects") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"sminfo"}, {.full_disk = true}).status == 3);
  CHECK(diags(f.fabric, {"sminfo"}, {.full_disk = true}).status == 255);
}

TEST_CASE("sminfo of infiniband-diags sets the node that is there first, or none") {
  Fabric f;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"sminfo", "1", "1"}, {"sminfo", "-D", "0,1", "1"}}) {
    f.fabric.network.tamper = [&f](Bytes, std::optional<ibtest::FakeFabric::Answer> answer) {
      f.fabric.node(f.leaf).info.node_guid = Guid{0x999};  // behind the first answer
      return answer ? std::vector<ibtest::FakeFabric::Answer>{*answer} : std::vector<ibtest::FakeFabric::Answer>{};
    };
    const auto refused = diags(f.fabric, words);
    f.fabric.node(f.leaf).info.node_guid = Guid{0x100};
    INFO(refused.out << refused.err);
    CHECK(f.fabric.sets.empty());
    CHECK(refused.status == 255);
    CHECK_THAT(refused.err, contains("0000:0000:0000:0100 was meant: nothing was set"));
  }
}

}  // namespace tools_sminfo_tests
