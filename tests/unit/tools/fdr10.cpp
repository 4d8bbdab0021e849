// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links at FDR10, which MlnxExtPortInfo alone tells from QDR, and routes to nodes in JSON.
#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_fdr10_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

/// Two switches (LIDs 1, 2), linked by their ports 3; the host of the test (LID 3) and another one (LID 4) at ports 1 and 2 of the first.
struct Fabric {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 4, "leaf"), spine = fabric.add_switch(0x110, 4, "spine");
  FakeFabric::NodeId here = fabric.add_ca(0x200, 1, "here"), other = fabric.add_ca(0x300, 1, "other");

  Fabric() {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.link(leaf, 3, spine, 3);
    constexpr std::uint16_t no_fdr10 = 0x673c;
    for (const auto node : {leaf, spine, here, other}) fabric.node(node).info.device_id = no_fdr10;
    fabric.assign_lids();
    fabric.attach(here);
  }
};

/// Leaf and other host are of a kind that knows FDR10; what they say of it is in `mlnx`.
struct Fdr10 : Fabric {
  Fdr10() {
    constexpr std::uint16_t connect_x3 = 0x1003;
    for (const auto node : {leaf, other}) fabric.node(node).info.device_id = connect_x3;
    mlnx.link_speed_supported = 1;
    fabric.network.tamper = [this](ib::Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
      if (!answer) return {};
      if (ib::load_be<std::uint16_t>(&request[16]) == ib::smp::MlnxExtPortInfo::attribute_id) {
        (*answer)[4] &= 0x80;  // the D bit of a directed route
        (*answer)[5] = 0;
        mlnx.pack(ib::MutableBytes(*answer).subspan(64, 64));
      }
      return {*answer};
    };
  }
  ib::smp::MlnxExtPortInfo mlnx;
};

}  // namespace

TEST_CASE_METHOD(Fdr10, "iblinkinfo of infiniband-diags: FDR10 is distinguished from QDR") {
  const auto line = [&] {
    const std::string out = diags(fabric, {"iblinkinfo", "--cas-only", "-l"}).out;
    return out.substr(0, out.find('\n') + 1);
  };
  mlnx.link_speed_active = 1;
  CHECK_THAT(line(), contains("( 4X  10.0 Gbps (FDR10) Active/  LinkUp)==>") && contains("\" ( )\n"));
  mlnx.link_speed_active = 0;
  CHECK_THAT(line(), contains("( 4X          10.0 Gbps Active/") &&
                         contains("( Could be FDR10 (Found link at QDR but expected speed is FDR10))\n"));
}

TEST_CASE_METHOD(Fdr10, "smpquery: words stand beside the numbers of attributes that python-rdma does not print") {
  mlnx.link_speed_active = 1;
  CHECK_THAT(ibtool(fabric, {"smpquery", "MEPI", "-D", "0,1", "1"}).out, contains("LinkSpeedActive") && contains("FDR10 (1)\n"));
  CHECK_THAT(diags(fabric, {"smpquery", "MEPI", "-D", "0,1", "1"}).out, !contains("(1)"));
}

TEST_CASE_METHOD(Fdr10, "the best speed of a link at FDR10 is FDR10") {
  mlnx.link_speed_active = 1;
  const json found = json::parse(ibtool(fabric, {"iblinkinfo", "--fdr10", "--json"}).out);
  unsigned links = 0;
  for (const json& node : found["nodes"]) {
    for (const json& port : node["ports"]) {
      if (node["node_guid"] != "0000:0000:0000:0100" || port["port_num"] != 2) continue;  // to the other host
      ++links;
      CHECK(port["speed_text"] == "FDR10");
      CHECK(port["best_speed_text"] == "FDR10");
      CHECK(port["best_speed"] == port["speed"]);
    }
  }
  CHECK(links == 1);
}

TEST_CASE_METHOD(Fdr10, "a fabric at FDR10 does not differ from itself, whether FDR10 was requested or not") {
  mlnx.link_speed_active = 1;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("now");
  CHECK(ibtool(fabric, {"snapshot", file, "--only", "ports"}).status == 0);
  CHECK_THAT(ibtool(fabric, {"iblinkinfo", "--fdr10", "--from", file}).out, contains("FDR10"));
  const auto plain = ibtool(fabric, {"subnet_diff", file}), asked = ibtool(fabric, {"subnet_diff", "--fdr10", file});
  INFO(plain.out << asked.out);
  CHECK(plain.status == 0);
  CHECK(asked.status == 0);
  mlnx.link_speed_active = 0;  // now it runs at QDR, which tells nothing unless one asks
  CHECK(ibtool(fabric, {"subnet_diff", file}).status == 0);
  CHECK(ibtool(fabric, {"subnet_diff", "--fdr10", file}).status == 1);
}

TEST_CASE_METHOD(Fabric, "routes in JSON lead from this host, or are null") {
  const auto route = [&](const std::vector<std::string>& words, const std::string& guid) {
    const json found = json::parse(ibtool(fabric, words).out);
    for (const json& node : found["nodes"]) {
      if (node["node_guid"] == guid) return node["route"];
    }
    return json("none");
  };
  const std::string switch_guid = "0000:0000:0000:0110", leaf_guid = "0000:0000:0000:0100";
  CHECK(route({"iblinkinfo", "--json"}, switch_guid) == json({1, 3}));
  CHECK(route({"iblinkinfo", "--json", "2"}, switch_guid).is_null());
  CHECK(route({"iblinkinfo", "--json", "0,1,3"}, switch_guid) == json({1, 3}));
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("now");
  CHECK(ibtool(fabric, {"snapshot", file, "--only", "ports"}).status == 0);
  CHECK(route({"iblinkinfo", "--json", "2", "--from", file}, switch_guid) == json({1, 3}));
  CHECK(route({"iblinkinfo", "--json", "0,1", "--from", file}, leaf_guid) == json({1}));
}

}  // namespace tools_fdr10_tests
