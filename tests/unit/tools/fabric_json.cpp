// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in JSON: the same filters as in text, both ends of a link, exact rates, and null for what is not known.
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_fabric_json_tests {

using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

/// Two switches and two hosts. Switch `near` has its ports 1 and 2 linked, the link at port 3 is down, port 4 was never linked.
struct Pair {
  FakeFabric fabric;
  FakeFabric::NodeId near, far, here, other;

  Pair() {
    near = fabric.add_switch(0x100, 4, "near");
    far = fabric.add_switch(0x200, 2, "far");
    here = fabric.add_ca(0x300, 1, "here");
    other = fabric.add_ca(0x400, 1, "other");
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 1);
    fabric.link(near, 3, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  json nodes(std::vector<std::string> words) {
    words.emplace_back("--json");
    const auto outcome = ibtool(fabric, std::move(words));
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    return json::parse(outcome.out)["nodes"];
  }
  std::vector<std::string> listed(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const json& node : nodes(words)) {
      for (const json& port : node["ports"]) found.push_back(node["node_description"].get<std::string>() + " " + port["port_num"].dump());
    }
    return found;
  }
  void set_speed(FakeFabric::NodeId node, unsigned port, std::uint8_t ext_active) {
    auto& info = fabric.node(node).ports.at(port).info;
    info.link_width_active = 2;
    info.link_speed_ext_active = ext_active;
    auto& end_port = fabric.node(node).ports.at(fabric.node(node).is_switch() ? 0 : port).info;
    end_port.capability_mask |= ib::smp::capability_mask::is_extended_speeds_supported;
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Pair, "iblinkinfo's JSON has the ports of its text") {
  fabric.set_link(near, 3, false);
  CHECK(listed({"iblinkinfo"}) == Words{"near 1", "near 2", "near 3", "near 4", "far 1", "far 2"});
  CHECK(listed({"iblinkinfo", "--down"}) == Words{"near 3", "near 4", "far 2"});
  CHECK(listed({"iblinkinfo", "--up"}) == Words{"near 1", "near 2", "near 3", "far 1"});  // all but POLLING
  for (const char* filter : {"--down", "--up", "-p"}) {
    const std::string text = ibtool(fabric, {"iblinkinfo", "-l", filter}).out;
    CHECK(static_cast<std::size_t>(std::ranges::count(text, '\n')) == listed({"iblinkinfo", filter}).size());
  }
}

TEST_CASE_METHOD(Pair, "iblinkinfo's JSON has only switches with a requested port") {
  fabric.link(near, 4, fabric.add_ca(0x500, 1, "more"), 1);
  fabric.assign_lids();
  REQUIRE(nodes({"iblinkinfo", "--down"}).size() == 1);
  CHECK(nodes({"iblinkinfo", "--down"})[0]["node_description"] == "far");
}

TEST_CASE_METHOD(Pair, "ibnetdiscover's JSON honours its lists") {
  const json hosts = nodes({"ibnetdiscover", "-H"});
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0]["node_type_text"] == "Channel Adapter");
  CHECK_FALSE(hosts[0].contains("ports"));
  CHECK(listed({"ibnetdiscover", "-p", "-H"}) == Words{"here 1", "other 1"});
  CHECK(nodes({"ibnetdiscover", "-S"}).size() == 2);
  CHECK(nodes({"ibnetdiscover"})[0]["ports"].is_array());
  CHECK(json::parse(ibtool(fabric, {"ibnetdiscover", "-m", "--json"}).out)["max_hops"] == 2);
}

TEST_CASE_METHOD(Pair, "a link names its peer") {
  const ibtest::FakeSysfs dir;

  const std::string map = dir.root() / "map";
  std::ofstream(map) << "0x400 \"rack 7\"\n";
  const json ports = nodes({"iblinkinfo", "--node-name-map", map})[0]["ports"];
  CHECK(ports[2]["peer"] == json::parse(R"({"node_guid": "0000:0000:0000:0400", "node_type": 1, "node_type_text": "Channel Adapter",
                                            "node_description": "other", "node_name": "rack 7", "port_num": 1, "lid": 4})"));
  CHECK(ports[1]["peer"]["node_name"].is_null());
  CHECK(ports[1]["peer"]["node_description"] == "far");
  CHECK(ports[3]["peer"].is_null());
}

TEST_CASE_METHOD(Pair, "rates in JSON are exact, and null without a link") {
  set_speed(near, 1, 2);  // EDR
  set_speed(here, 1, 2);
  set_speed(near, 3, 1);  // FDR
  set_speed(other, 1, 1);
  const json ports = nodes({"iblinkinfo"})[0]["ports"];
  CHECK(ports[0]["rate_mbps"] == 103125);
  CHECK(ports[0]["width"] == 4);
  CHECK(ports[0]["width_text"] == "4x");
  CHECK(ports[0]["speed"] == 25781.25);
  CHECK(ports[0]["speed_text"] == "EDR");
  CHECK(ports[2]["rate_mbps"] == 56250);
  for (const char* key : {"rate_mbps", "width", "width_text", "speed", "speed_text", "best_width", "best_speed_text"}) {
    INFO(key);
    CHECK(ports[3][key].is_null());
  }
}

TEST_CASE_METHOD(Pair, "values without an answer are null, and listed with the reason") {
  fabric.node(other).faults.ignores = ib::smp::NodeDescription::attribute_id;
  const auto outcome = ibtool(fabric, {"ibnodes", "--json"});
  CHECK(outcome.status == 4);
  const json document = json::parse(outcome.out);
  for (const json& node : document.at("nodes")) CHECK(node["node_description"].is_null() == (node["node_guid"] == "0000:0000:0000:0400"));
  REQUIRE(document.at("unreachable").size() == 1);
  const json& missing = document.at("unreachable")[0];
  CHECK(missing["reason"] == "no_answer");
  CHECK(missing["attribute"] == "SMPNodeDescription");
  CHECK(missing["node_guid"] == "0000:0000:0000:0400");
  CHECK(missing["beyond"] == false);
}

}  // namespace tools_fabric_json_tests
