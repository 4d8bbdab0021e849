// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// vendstat and set_guid against a fabric whose ports answer vendor MADs and whose SA can set, which ibsim's do not.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "tools/frame/common_options.hpp"

namespace tools_vendstat_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using nlohmann::json;

namespace {

constexpr std::size_t vendor_data = 24, sa_data = 56, sa_mask = 48;

/// A switch with two hosts. Vendor MADs are answered from `answers`, by attribute; the SA knows a path to everybody.
struct Vendor {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, here, other;
  std::map<std::uint16_t, std::vector<std::uint8_t>> answers;
  std::vector<FakeFabric::Answer> asked;  ///< vendor MADs
  FakeFabric::Answer set;                 ///< the last SubnAdmSet

  Vendor() {
    leaf = fabric.add_switch(0x100, 4, "leaf 1");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(leaf).ports.at(0).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
    fabric.network.gmp = [this](Bytes request, const path::Path&) {
      return request[1] == 0x03 ? sa_answer(request) : vendor_answer(request);
    };
  }

  std::optional<FakeFabric::Answer> sa_answer(Bytes request) {
    FakeFabric::Answer answer = ibtest::answer_to(request);
    if (request[3] == 2) {
      set.assign(request.begin(), request.end());
      return answer;
    }
    auto path = sa::PathRecord::unpack(request.subspan(sa_data, sa::PathRecord::wire_size));
    path.slid = fabric.end_port().lid;
    path.p_key = 0xffff;
    path.mtu = smp::Mtu::mtu_2048;
    path.rate = sa::Rate::gbps_10;
    path.pack(MutableBytes(answer).subspan(sa_data, sa::PathRecord::wire_size));
    return answer;
  }

  std::optional<FakeFabric::Answer> vendor_answer(Bytes request) {
    asked.emplace_back(request.begin(), request.end());
    const auto found = answers.find(load_be<std::uint16_t>(&request[16]));
    if (found == answers.end()) return ibtest::answer_to(request, 0xc);
    FakeFabric::Answer answer = ibtest::answer_to(request);
    std::copy(found->second.begin(), found->second.end(), answer.begin() + vendor_data);
    return answer;
  }

  template <class T>
  void answer(const T& value) {
    answers[T::attribute_id].resize(T::wire_size);
    value.pack(answers[T::attribute_id]);
  }
  ibtest::Outcome run(std::vector<std::string> words, const ibtest::Outside& outside = {}) {
    words.insert(words.begin(), "vendstat");
    return ibtest::ibtool(fabric, std::move(words), outside);
  }
  ibtest::Outcome run_diags(std::vector<std::string> words, const ibtest::Outside& outside = {}) {
    words.insert(words.begin(), "vendstat");
    return ibtest::diags(fabric, std::move(words), outside);
  }
  std::uint32_t modifier(std::size_t at) const { return load_be<std::uint32_t>(&asked.at(at)[20]); }
  Bytes data(std::size_t at) const { return Bytes(asked.at(at)).subspan(vendor_data); }
};

mlx::Is4GeneralInfo info_of(std::uint16_t device) {
  mlx::Is4GeneralInfo info;
  info.hw_revision = 0xa1;
  info.device_id = device;
  info.uptime = 0x1234;
  info.fw_major = 1;
  info.fw_minor = 2;
  info.fw_sub_minor = 3;
  info.fw_build_id = 0xbeef;
  info.fw_month = 0x12;
  info.fw_day = 0x31;
  info.fw_year = 0x2009;
  const std::string_view psid = "MT_\x1b[0m";
  std::copy(psid.begin(), psid.end(), info.fw_psid.begin());
  info.ext_major = 27;
  info.ext_minor = 2010;
  info.ext_sub_minor = 4;
  return info;
}

}  // namespace

TEST_CASE_METHOD(Vendor, "general information in the layout that the device has") {
  answer(info_of(47396));
  const json is3 = json::parse(run({"-N", "1", "--json"}).out);
  CHECK(is3["attribute"] == "MlxGeneralInfo");
  CHECK(is3["data"]["fw_minor"] == 2);
  answer(info_of(0xcf08));
  const json is4 = json::parse(run({"-N", "1", "--json"}).out);
  CHECK(is4["data"]["ext_major"] == 27);
  CHECK(is4["data"]["ext_minor"] == 2010);
  const auto text = run({"-N", "1"});
  CHECK(text.status == 0);
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK_THAT(text.out, contains("Device_id................53000\n"));
}

TEST_CASE_METHOD(Vendor, "-N and --cpi as a table") {
  answer(info_of(0xcf08));
  const auto text = run({"-N", "1", "--format", "table"});
  CHECK(text.status == 0);
  CHECK(std::ranges::count(text.out, '\n') == 2);
  CHECK_THAT(text.out, ibtest::starts_with("TARGET") && contains("device_id") && contains("53000") && !contains("VSKey"));
  const json row = json::parse(run({"-N", "1", "--json", "--top", "1"}).out)["nodes"].at(0);
  CHECK(row["target"] == "1");
  CHECK(row["lid"] == 1);
  CHECK(row["attribute"] == "MlxIS4GeneralInfo");
  json data = row["data"];
  for (const char* of_is3 : {"hw_major", "hw_minor", "hw_sub_minor"}) {
    CHECK(data.at(of_is3).is_null());
    data.erase(of_is3);
  }
  CHECK(data == json::parse(run({"-N", "1", "--json"}).out)["data"]);  // a table has the values of the attribute
  CHECK(run({"-N", "1", "--format", "csv", "--columns", "lid,data.ext_major"}).out == "lid,data.ext_major\r\n1,27\r\n");
  // The layout has no hw_major: that is not known, the columns behind it are.
  CHECK(run({"-N", "1", "--format", "csv", "--columns", "data.hw_major,data.device_id"}).out ==
        "data.hw_major,data.device_id\r\n,53000\r\n");
  answer(info_of(47396));
  CHECK(run({"-N", "1", "--format", "csv", "--columns", "data.fw_major,data.ext_major,data.hw_sub_minor"}).out ==
        "data.fw_major,data.ext_major,data.hw_sub_minor\r\n1,,27\r\n");
  const json old = json::parse(run({"-N", "1", "--json", "--top", "1"}).out)["nodes"].at(0);
  CHECK(old["attribute"] == "MlxGeneralInfo");
  CHECK(old["data"]["capability_mask"].is_null());
  CHECK(old["data"].at("capability_mask_text").is_null());
  CHECK(old["data"]["fw_psid"] == json::parse(run({"-N", "1", "--json"}).out)["data"]["fw_psid"]);
  answer(mlx::ClassPortInfo{.base_version = 1, .class_version = 1});
  CHECK(run({"--cpi", "1", "--format=tsv", "--columns=attribute,data.class_version"}).out ==
        "attribute\tdata.class_version\nMlxClassPortInfo\t1\n");
  CHECK_THAT(run({"-N", "1", "--columns", "zz"}).err, contains("no column is called 'zz'"));
  CHECK_THAT(run({"-w", "1", "--sort", "lid"}).err, contains("for the tables of -N and --cpi"));
  CHECK(run({"-w", "1", "--format", "csv"}).status == 2);
}

TEST_CASE_METHOD(Vendor, "-N of several nodes: one table, and what each is without columns") {
  const ibtest::FakeSa names(fabric);
  fabric.network.gmp = [this, sa = fabric.network.gmp](Bytes request, const path::Path& path) {
    return request[1] == mad::mgmt_class::sa ? sa(request, path) : vendor_answer(request);
  };
  fabric.node(other).ports.at(1).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
  fabric.node(here).ports.at(1).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
  answer(info_of(0xcf08));
  const auto text = run({"-N", "*e*", "--format", "table", "--sort", "-lid"});
  CHECK(text.status == 0);
  REQUIRE(std::ranges::count(text.out, '\n') == 4);
  CHECK(text.out.find("other") < text.out.find("here"));
  CHECK(text.out.find("here") < text.out.find("leaf 1"));
  CHECK(run({"-N", "*e*", "--format", "csv", "--columns", "lid,data.device_id", "--sort", "lid", "--top", "2"}).out ==
        "lid,data.device_id\r\n1,53000\r\n2,53000\r\n");
  CHECK(json::parse(run({"-N", "*e*", "--json"}).out)["targets"].size() == 3);
  CHECK_THAT(run({"-N", "*e*", "--format", "csv"}).out, ibtest::starts_with("target,path.kind,") && contains(",vs_key,hw_revision,"));
  fabric.node(other).ports.at(1).info.capability_mask = 0;
  const auto partial = run({"-N", "*e*", "--json", "--columns", "lid"});
  CHECK(partial.status == 4);
  CHECK(json::parse(partial.out)["nodes"].size() == 2);
  CHECK_THAT(partial.err, contains("(LID 3) does not support vendor MADs"));
}

TEST_CASE_METHOD(Vendor, "general information in the words of infiniband-diags") {
  answer(mlx::ClassPortInfo());
  answer(info_of(47396));
  const auto done = run_diags({"-N", "3"});  // which does not look at the PortInfo
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  CHECK(done.out ==
        "hw_dev_rev:  0x00a1\nhw_dev_id:   0xb924\nhw_uptime:   0x00001234\nfw_version:  01.02.03\nfw_build_id: 0xbeef\n"
        "fw_date:     12/31/2009\nfw_psid:     'MT_ [0m'\nfw_ini_ver:  0\nsw_version:  00.00.27\n");
  answer(mlx::GeneralInfo());
  CHECK_THAT(run_diags({"-N", "1"}).out, contains("fw_psid:     ''\n"));
  answer(info_of(0xcf08));
  CHECK_THAT(run_diags({"-N", "1"}).out, contains("fw_version:  27.2010.04\n") && contains("sw_version:  00.00.00\n"));
  const auto unsupported = run_diags({"-N", "-w", "1"});
  CHECK(unsupported.status == 255);
  CHECK_THAT(unsupported.out,
             ibtest::starts_with("hw_dev_rev:") && contains("\nvendstat: iberror: failed: Unsupported device ID 0xcf08\n"));
}

TEST_CASE_METHOD(Vendor, "infiniband-diags names the request that failed, and ends only with -N and -w") {
  const auto no_class = run_diags({"-N", "1"});
  CHECK(no_class.status == 255);
  CHECK(no_class.out == "vendstat: iberror: failed: classportinfo query\n");
  CHECK(no_class.err == "vendstat: method 1, attribute 1 failure\n");
  answer(mlx::ClassPortInfo());
  CHECK(run_diags({"-w", "1"}).out == "vendstat: iberror: failed: generalinfo query\n");
  answer(info_of(47396));
  CHECK(run_diags({"-w", "1"}).out == "vendstat: iberror: failed: vendstat\n");
  const auto groups = run_diags({"-i", "1", "12"});
  CHECK(groups.status == 0);
  CHECK(groups.out.empty());
  CHECK(groups.err == "vendstat: method 1, attribute 144 failure\ncounter group info query failure\n");
  const auto configured = run_diags({"-c", "3,9", "1", "12"});
  CHECK(configured.status == 0);
  CHECK(configured.out == "counter_groups_config: configuring group0 3 group1 9\n");
  CHECK_THAT(configured.err, contains("config counter group set failure\n"));
  asked.clear();
  const auto space = run_diags({"-R", "10", "-W", "20,5", "-e", "1"});
  CHECK(space.status == 0);
  CHECK(asked.size() == 2);
  CHECK_THAT(space.err,
             contains("mad_rpc_rmpp: MAD completed with error status 0xc; dport (Lid 1)\nvendstat: method 1, attribute 80 failure\n"
                      "cannot get config space records\n") &&
                 contains("cannot set config space records\n"));
  fabric.network.gmp = [this](Bytes request, const path::Path&) -> std::optional<FakeFabric::Answer> {
    if (request[1] != mad::mgmt_class::sa) return std::nullopt;
    return sa_answer(request);
  };
  CHECK_THAT(run_diags({"-N", "1"}).err,
             contains("mad_rpc_rmpp: _do_madrpc failed; dport (Lid 1)\nvendstat: method 1, attribute 1 failure\n"));
  const auto silent = run({"-N", "1"});
  CHECK(silent.status == 3);
  CHECK_THAT(silent.err, contains("No answer from LID 1 about GeneralInfo ("));
}

TEST_CASE_METHOD(Vendor, "what infiniband-diags reads; without a target it is this port") {
  mlx::CounterGroupInfo info;
  info.num_counter_groups = 1;
  answer(info);
  CHECK(run_diags({"-i"}).out == "counter_group_info:\n1 counter groups\ngroup0 mask 0\n");
  CHECK(modifier(0) == fabric.end_port().number);
  mlx::ConfigSpaceAccess space;
  space.record[0] = {0x10, 0x12345678, 0xffff};
  answer(space);
  asked.clear();
  CHECK(run_diags({"-R", "10,ffff", "1"}).out == "Config space record at 0x10: 0x5678\n");
  CHECK(mlx::ConfigSpaceAccess::unpack(data(0)).record[0].mask == 0xffff);
  CHECK(run_diags({"1"}).out == "vendstat: iberror: failed: at least one of -N and -w must be specified\n");
  for (const auto& words : std::vector<std::vector<std::string>>{{"-c", "1"}, {"-R", "x"}, {"-W", "10"}})
    CHECK(run_diags(words).status == 2);
  CHECK(run_diags({"-i", "1"}, {.full_disk = true}).status == 255);
  CHECK(run({"-i", "1"}, {.full_disk = true}).status == 3);
}

TEST_CASE_METHOD(Vendor, "a port without the vendor class gets no vendor MAD") {
  const auto outcome = run({"-N", "3"});
  CHECK(outcome.status == 3);
  CHECK_THAT(outcome.err, contains("(LID 3) does not support vendor MADs\n"));
  CHECK(asked.empty());
}

TEST_CASE_METHOD(Vendor, "PortXmitWait of every port") {
  answer(info_of(0xcf08));
  CHECK_THAT(run({"-w", "1"}).err, contains("Unsupported device ID 0xcf08"));
  answer(info_of(47396));
  mlx::ConfigSpaceAccess space;
  space.record[0].data = 7;
  space.record[4].data = 0x20;
  answer(space);
  asked.clear();
  const auto outcome = run({"-w", "1"});
  CHECK(outcome.out == "Port 4: PortXmitWait 0x7\nPort 8: PortXmitWait 0x20\nPort 21: PortXmitWait 0x7\nPort 1: PortXmitWait 0x20\n");
  REQUIRE(asked.size() == 3);
  CHECK(modifier(1) == (2U << 22 | 16U << 16));
  CHECK(modifier(2) == (2U << 22 | 8U << 16));
  const auto first = mlx::ConfigSpaceAccess::unpack(data(1)), second = mlx::ConfigSpaceAccess::unpack(data(2));
  CHECK(first.record[0].address == 0x10113c);
  CHECK(first.record[15].address == 0x11013c);
  CHECK(second.record[7].address == 0x11813c);
  CHECK(second.record[8].address == 0);
}

TEST_CASE_METHOD(Vendor, "counter groups are shown and configured") {
  mlx::CounterGroupInfo info;
  info.num_counter_groups = 255;  // more than the answer has room for
  info.group_masks = {0x1f, 0};
  answer(info);
  const auto shown = run({"-i", "1", "12"});
  CHECK_THAT(shown.out, contains("counter_group_info:\n255 counter groups\ngroup0 mask 0x1f\ngroup1 mask 0\n"));
  CHECK(modifier(0) == 12);
  mlx::ConfigCounterGroups groups;
  groups.group_selects[0].group_select = 2;
  groups.group_selects[1].group_select = 8;
  answer(groups);
  asked.clear();
  CHECK(run({"-c", "2,8", "1", "12"}).out == "counter_groups_config: configured group0 2 group1 8\n");
  REQUIRE(asked.size() == 2);
  CHECK(asked[0][3] == 2);
  CHECK(mlx::ConfigCounterGroups::unpack(data(0)) == groups);
  CHECK(run({"-c", "2", "1"}).status == 2);
  CHECK(run({"-c", "2,256", "1"}).status == 2);
}

TEST_CASE_METHOD(Vendor, "words of the configuration space") {
  mlx::ConfigSpaceAccess space;
  space.record[0] = {0x10, 0x12345678, 0xffff};
  answer(space);
  CHECK(run({"-R", "10,ffff", "1"}).out == "Config space record at 0x10: 0x5678\n");
  CHECK(mlx::ConfigSpaceAccess::unpack(data(0)).record[0].mask == 0xffff);
  CHECK(modifier(0) == (2U << 22 | 1U << 16));
  asked.clear();
  CHECK(run({"-W", "0x20,5", "-W", "24,6,f0", "1"}).status == 0);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0][3] == 2);
  CHECK(mlx::ConfigSpaceAccess::unpack(data(0)).record[1] == mlx::ConfigRecord{0x24, 6, 0xf0});
  CHECK(mlx::ConfigSpaceAccess::unpack(data(0)).record[0].mask == 0xffffffff);
  asked.clear();
  for (const char* bad : {"", "x", "10,20", "1,2,3,4", "1,,2", "100000000,1"})
    CHECK(run({"-W", bad, "1"}).status == (bad == std::string("10,20") ? 0 : 2));
  asked.clear();
  CHECK(run({"1"}).err == "E: One of -N, --cpi, -w, -i, -c, -R and -W is needed (usage: ibtool vendstat TARGET [PORT])\n");
  CHECK_THAT(run({"-N", "-w", "1"}).err, contains("-N and -w contradict each other"));
  CHECK_THAT(run({"-N"}).err, contains("TARGET is missing"));
  CHECK(run({"-i", "1", "256"}).status == 2);
  CHECK(asked.empty());
  const json both = json::parse(run({"-R", "10", "-W", "20,5", "1", "--json"}).out);
  CHECK(both["path"]["dlid"] == 1);
  CHECK(both["records"].size() == 2);
  CHECK(run({"-R", "10", "-W", "20,5", "1"}).out == "Config space record at 0x10: 0x5678\nConfig space record at 0x10: 0x5678\n");
}

TEST_CASE_METHOD(Vendor, "set_guid sets one GUID of one block") {
  const auto outcome = ibtest::ibtool(fabric, {"set_guid", "3", "9", "0011:2233:4455:6677"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, contains("SAGUIDInfoRecord\n  0 00030100 LID=3,blockNum=1,") && contains("1:GUID('0011:2233:4455:6677')"));
  REQUIRE(set.size() >= 256);
  CHECK(load_be<std::uint64_t>(&set[sa_mask]) == (3U | 1U << 5));  // LID, block, and the second GUID (IBA 15.2.5.18)
  CHECK(load_be<std::uint16_t>(&set[16]) == sa::GuidInfoRecord::attribute_id);
  for (const char* slot : {"0", "256", "-1"}) CHECK(ibtest::ibtool(fabric, {"set_guid", "3", slot, "0011:2233:4455:6677"}).status == 2);
  CHECK(ibtest::ibtool(fabric, {"set_guid", "3", "1"}).err ==
        "E: Too few arguments: GUID is missing (usage: ibtool set_guid TARGET SLOT GUID)\n");
  CHECK_THAT(ibtest::ibtool(fabric, {"set_guid", "3", "1", "zz"}).err, contains("'zz' is not a valid GUID"));
}

}  // namespace tools_vendstat_tests
