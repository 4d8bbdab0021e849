// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every attribute that iba-defs marks with <query>: commands know it by its name, and print it live and from a snapshot.
#include "iba/queries.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "iba-gen/smp.hpp"
#include "mad/rpc_names.hpp"
#include "sa/pattern.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/parts.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "tools/smpquery/operation.hpp"

namespace tools_queries_tests {

using namespace ib;
using ibtest::contains;
using ibtest::ibtool;
using nlohmann::json;

namespace {

constexpr std::size_t status_at = 4, attribute_at = 16, modifier_at = 20, data_at = 64;
constexpr std::uint8_t directed_bit = 0x80;

/// A fabric whose nodes have every attribute of subnet management, and say so: each byte of those that FakeFabric does not know is a small
/// number that depends on the attribute modifier, but all bits of what a device can do are set.
struct Rich : ibtest::SmallFabric {
  Rich() {
    for (ibtest::FakeFabric::NodeId at = 0; at < fabric.size(); ++at) {
      ibtest::FakeFabric::Node& node = fabric.node(at);
      node.switch_info.random_fdb_cap = 40;
      for (ibtest::FakeFabric::Port& port : node.ports) {
        port.info.capability_mask |= smp::capability_mask::is_capability_mask2_supported;
        port.info.capability_mask2 |= smp::capability_mask2::is_port_info_extended_supported;
      }
      node.faults.lie = [this](ibtest::FakeFabric::Answer& answer) {
        const auto attribute = load_be<std::uint16_t>(&answer[attribute_at]);
        asked.insert(attribute);
        if ((load_be<std::uint16_t>(&answer[status_at]) & 0x7fffU) == 0) return;
        answer[status_at] &= directed_bit;
        answer[status_at + 1] = 0;
        const bool is_capabilities = attribute == smp::MlnxGeneralCapabilities::attribute_id;
        std::fill_n(answer.begin() + data_at, 64, static_cast<std::uint8_t>(is_capabilities ? 0xff : 1 + (answer[modifier_at + 3] & 3U)));
      };
    }
  }
  std::set<std::uint16_t> asked;
};

std::vector<QueryInfo> queries(bool (QueryInfo::*by)() const) {
  std::vector<QueryInfo> chosen;
  std::ranges::copy_if(all_queries(), std::back_inserter(chosen), by);
  return chosen;
}

/// Whether a text has the word with a blank or an end of line behind it.
bool lists(const std::string& text, std::string_view word) {
  const std::string entry = "    " + std::string(word);
  return text.find(entry + " ") != std::string::npos || text.find(entry + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("attributes that iba-defs marks are names of smpquery and saquery, in help, completion and query") {
  Rich f;
  const std::string smp_help = ibtool(f.fabric, {"help", "smpquery"}).out, sa_help = ibtool(f.fabric, {"help", "saquery"}).out;
  const std::string smp_words = ibtool(f.fabric, {"completion", "--words", "--", "smpquery", ""}).out;
  const std::string sa_words = ibtool(f.fabric, {"completion", "--words", "--", "saquery", ""}).out;
  const std::string query_words = ibtool(f.fabric, {"completion", "--words", "--", "query", "SubnGet", ""}).out;
  REQUIRE(queries(&QueryInfo::by_smp).size() > 20);
  for (const QueryInfo& query : queries(&QueryInfo::by_smp)) {
    INFO(query.name.view());
    CHECK(tools::smpquery::find_operation(query.name).query->info == query.info);
    if (!query.alias.empty()) CHECK(tools::smpquery::find_operation(query.alias).query->info == query.info);
    CHECK(tools::smpquery::find_operation(query.info->iba_name).query->info == query.info);
    CHECK(lists(smp_help, query.name));
    CHECK_THAT(smp_words, contains(std::string(query.name)));
    CHECK_THAT(query_words, contains(std::string(query.info->iba_name)));
    CHECK(mad::find_attribute_of(*mad::find_rpc("SubnGet"), query.info->iba_name) == query.info);
    CHECK(snapshot::find_part(query.part).has_value());
    CHECK(find_query(0x01, static_cast<std::uint16_t>(query.info->attribute_id))->info == query.info);
  }
  REQUIRE(queries(&QueryInfo::by_sa).size() > 20);
  for (const QueryInfo& query : queries(&QueryInfo::by_sa)) {
    INFO(query.name.view());
    CHECK(sa::find_record_type(query.name).info == query.info);
    CHECK(lists(sa_help, query.name));
    CHECK_THAT(sa_words, contains(std::string(query.name)));
    if (!query.part.empty()) CHECK(sa::find_stored_table(query.name) != nullptr);
  }
}

TEST_CASE("GMP attributes that iba-defs marks belong to a part of a snapshot") {
  std::size_t count = 0;
  for (const QueryInfo& query : all_queries()) {
    if (query.by_smp() || query.by_sa()) continue;
    INFO(query.name.view());
    ++count;
    CHECK(query.mgmt_class == query.info->mgmt_class);
    CHECK(snapshot::find_part(query.part).has_value());
    CHECK(find_query(query.mgmt_class, static_cast<std::uint16_t>(query.info->attribute_id))->info == query.info);
  }
  CHECK(count > 25);
  CHECK(find_query(0x04, 0x7777) == nullptr);
}

TEST_CASE("every SMP attribute with a name is printed live and from a snapshot, in text and JSON") {
  Rich f;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("all");
  const auto taken = ibtool(f.fabric, {"snapshot", file, "--also", "attributes,phy", "--skip", "sa,counters,details,congestion,vendor"});
  INFO(taken.out << taken.err);
  REQUIRE(taken.status == 4);  // no node has an agent for registers
  for (const QueryInfo& query : queries(&QueryInfo::by_smp)) {
    for (const std::string form : {"--format=text", "--json"}) {
      INFO(query.name.view() << form);
      const auto live = ibtool(f.fabric, {"smpquery", std::string(query.name), "1", form});
      CHECK(live.err.empty());
      REQUIRE(live.status == 0);
      CHECK_FALSE(live.out.empty());
      const auto stored = ibtool(f.fabric, {"smpquery", std::string(query.name), "1", form, "--from", file});
      CHECK(stored.err.empty());
      CHECK(stored.out == live.out);
      if (form == "--json" && tools::smpquery::find_operation(query.name).run == tools::smpquery::any_attribute) {
        const json document = json::parse(live.out);
        CHECK(document["attribute"] == query.info->iba_name);
        CHECK(document["operation"] == query.name);
        CHECK_FALSE(document["data"].empty());
      }
    }
  }
}

TEST_CASE("a part of a snapshot that was not read is named by the command that needs it") {
  Rich f;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("usual");
  REQUIRE(ibtool(f.fabric, {"snapshot", file, "--skip", "sa,counters,details,congestion,vendor"}).status == 0);
  f.asked.clear();
  const auto done = ibtool(f.fabric, {"smpquery", "VendorDiag", "1", "--from", file});
  CHECK(done.status == 3);
  CHECK_THAT(done.err, contains("attributes"));
  CHECK(f.asked.empty());
}

TEST_CASE("tables in blocks are stored as far as SwitchInfo says") {
  Rich f;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("blocks");
  REQUIRE(ibtool(f.fabric, {"snapshot", file, "--only", "attributes"}).status == 0);
  for (const std::string block : {"0", "1", "2"})
    CHECK(ibtool(f.fabric, {"smpquery", "RFT", "1", block, "--from", file}).out == ibtool(f.fabric, {"smpquery", "RFT", "1", block}).out);
  CHECK(ibtool(f.fabric, {"smpquery", "RFT", "1", "3", "--from", file}).status == 3);
}

TEST_CASE("an attribute of a vendor is not sent to a device of another one") {
  Rich f;
  for (const QueryInfo& query : queries(&QueryInfo::by_smp)) {
    if (!query.vendor || tools::smpquery::find_operation(query.name).attribute != nullptr) continue;
    INFO(query.name.view());
    f.fabric.node(f.leaf).info.vendor_id = 0x66a;
    f.asked.clear();
    const auto done = ibtool(f.fabric, {"smpquery", std::string(query.name), "1"});
    CHECK(done.status == 3);
    CHECK_THAT(done.err, contains("LID 1 is not a Mellanox device: " + std::string(query.name) + " is not sent to it"));
    CHECK_FALSE(f.asked.contains(static_cast<std::uint16_t>(query.info->attribute_id)));
    f.fabric.node(f.leaf).info.vendor_id = 0x2c9;
    CHECK(ibtool(f.fabric, {"smpquery", std::string(query.name), "1"}).status == 0);
    CHECK(f.asked.contains(static_cast<std::uint16_t>(query.info->attribute_id)));
  }
}

TEST_CASE("smpquery --all sends no device of another vendor what only Mellanox has") {
  Rich f;
  f.fabric.node(f.other).info.vendor_id = 0x66a;
  const json ports = json::parse(ibtool(f.fabric, {"smpquery", "--all", "MEPI", "--json"}).out)["ports"];
  CHECK(ports.size() == 5);
  for (const json& row : ports) CHECK(row["node_description"] != "other");
}

TEST_CASE("an attribute of a node takes no modifier, one of a port is of NODE/PORT") {
  Rich f;
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "SMInfo", "1", "2"}).err, contains("ATTR_MOD is not for SMInfo"));
  const auto port = ibtool(f.fabric, {"smpquery", "LedInfo", "1/2", "--json"});
  REQUIRE(port.status == 0);
  CHECK(json::parse(port.out)["modifier"] == 2);
  CHECK(port.out == ibtool(f.fabric, {"smpquery", "LedInfo", "1", "2", "--json"}).out);
}

TEST_CASE("smpquery --all: an attribute of all ports as a table") {
  Rich f;
  const auto text = ibtool(f.fabric, {"smpquery", "--all", "MEPI"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("NODE") && contains("PORT") && contains("leaf 1") && contains("other"));
  CHECK(std::ranges::count(text.out, '\n') == 1 + 4 + 1 + 1);
  const auto document = json::parse(ibtool(f.fabric, {"smpquery", "--all", "MlnxExtPortInfo", "--json"}).out);
  REQUIRE(document["ports"].size() == 6);
  // The values are those of the single attribute.
  for (const json& row : document["ports"]) {
    CHECK(row["attribute"] == "SMPMlnxExtPortInfo");
    const auto one =
        ibtool(f.fabric, {"smpquery", "MEPI", std::to_string(row["lid"].get<int>()), std::to_string(row["port_num"].get<int>()), "--json"});
    CHECK(json::parse(one.out)["data"] == row["data"]);
  }
  const auto chosen = ibtool(f.fabric, {"smpquery", "--all", "MEPI", "--format", "csv", "--columns",
                                        "node_guid,port_num,data.link_speed_active", "--sort=-port_num", "--top", "2"});
  CHECK(chosen.status == 0);
  CHECK(chosen.out.starts_with("node_guid,port_num,data.link_speed_active,data.link_speed_active_text\r\n0000:0000:0000:0100,4,1,"));
  CHECK(std::ranges::count(chosen.out, '\n') == 3);
}

TEST_CASE("smpquery --all: nodes, from a snapshot, wrong words") {
  Rich f;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("all");
  REQUIRE(ibtool(f.fabric, {"snapshot", file, "--also", "attributes,phy", "--skip", "sa,counters,details,congestion,vendor"}).status == 4);
  for (const QueryInfo& query : queries(&QueryInfo::by_smp)) {
    if (query.access == Access::block || query.part == "sminfo") continue;
    INFO(query.name.view());
    const auto live = ibtool(f.fabric, {"smpquery", "--all", std::string(query.name), "--json"});
    const auto stored = ibtool(f.fabric, {"smpquery", "--all", std::string(query.name), "--json", "--from", file});
    CHECK(live.status == 0);
    CHECK(stored.status == 0);
    const std::string rows = query.access == Access::port ? "ports" : "nodes";
    CHECK(json::parse(live.out)[rows] == json::parse(stored.out)[rows]);
    CHECK(json::parse(live.out)[rows].size() == (query.access == Access::port ? 6U : query.switches ? 1U : 3U));
  }
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "--all", "LFT"}).err, contains("--all is not for LinearForwardingTable"));
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "NI", "1", "--sort", "lid"}).err, contains("for the table of --all"));
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "--all", "NI", "--columns", "zz"}).err, contains("no column is called 'zz'"));
  CHECK(ibtool(f.fabric, {"smpquery", "--all", "NI", "1"}).status == 2);
}

TEST_CASE("smpquery --all: a device that lacks the attribute is not in the table, one that is silent is a failure") {
  Rich f;
  f.fabric.node(f.other).faults.lie = nullptr;
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "--all", "LedInfo"}).out, !contains("other"));
  f.fabric.node(f.other).faults.ignores = smp::LedInfo::attribute_id;
  const auto done = ibtool(f.fabric, {"smpquery", "--all", "LedInfo", "--json"});
  CHECK(done.status == 4);
  const json document = json::parse(done.out);
  CHECK(document["ports"].back()["data"].is_null());
  CHECK(document["unreachable"].size() == 1);
}

TEST_CASE("smpquery --all SMInfo: only ports whose CapabilityMask says IsSM get the request") {
  Rich f;
  std::multiset<std::string> sent;
  const auto notice = [&](ibtest::FakeFabric::NodeId node, std::string_view name) {
    f.fabric.node(node).faults.lie = [&sent, name, before = f.fabric.node(node).faults.lie](ibtest::FakeFabric::Answer& answer) {
      if (load_be<std::uint16_t>(&answer[attribute_at]) == smp::SMInfo::attribute_id) sent.emplace(name);
      before(answer);
    };
  };
  notice(f.leaf, "leaf");
  notice(f.here, "here");
  notice(f.other, "other");
  const auto none = ibtool(f.fabric, {"smpquery", "--all", "SMInfo", "--format", "csv", "--columns", "lid,data.priority"});
  CHECK(none.status == 0);
  CHECK(none.out == "lid,data.priority\r\n");
  CHECK(sent.empty());
  f.fabric.node(f.leaf).ports.at(0).info.capability_mask |= smp::capability_mask::is_sm;
  f.fabric.node(f.other).ports.at(1).info.capability_mask |= smp::capability_mask::is_sm;
  const auto both = ibtool(f.fabric, {"smpquery", "--all", "SMInfo", "--json"});
  CHECK(both.status == 0);
  const json nodes = json::parse(both.out)["nodes"];
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0]["lid"] == 1);
  CHECK(nodes[1]["lid"] == 3);
  CHECK(sent == std::multiset<std::string>{"leaf", "other"});
}

}  // namespace tools_queries_tests
