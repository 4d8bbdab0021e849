// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The views of a snapshot whose columns are words of the JSON dictionary, held against the JSON of the commands.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "man/json_words.hpp"
#include "snapshot/file/sqlite.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_snapshot_views_tests {

using namespace ib;
using ibtest::ibtool;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 10> views{
    "ends",          "cables", "slow_links", "links_not_read", "counters", "ports_with_errors", "counters_not_read",
    "hosts_by_leaf", "lids",   "switch_load"};

std::vector<std::string> words_of(const std::string& file, const std::string& sql) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  snapshot::Database database(fd.get(), file, snapshot::Database::Mode::write);
  snapshot::Statement statement(database, sql);
  std::vector<std::string> words;
  while (statement.step()) words.emplace_back(statement.text(0));
  return words;
}

std::vector<std::string> columns_of(const std::string& file, std::string_view view) {
  return words_of(file, fmt::format("SELECT name FROM pragma_table_info('{}')", view));
}

/// The rows of a view as objects.
json rows_of(const std::string& file, std::string_view view) {
  std::string members;
  for (const std::string& column : columns_of(file, view))
    members += fmt::format("{}'{}', {}", members.empty() ? "" : ", ", column, column);
  json rows = json::array();
  for (const std::string& row : words_of(file, fmt::format("SELECT json_object({}) FROM {}", members, view)))
    rows.push_back(json::parse(row));
  return rows;
}

/// The row in which `key` has that value.
json row_where(const json& rows, const std::string& key, const json& value) {
  const auto found = std::ranges::find_if(rows, [&](const json& row) { return row.at(key) == value; });
  INFO(rows.dump() << " " << key << " " << value.dump());
  REQUIRE(found != rows.end());
  return *found;
}

bool is_field(std::string_view name) {
  const auto has = [name](const StructInfo& info) { return std::ranges::find(info.fields, name, &FieldInfo::name) != info.fields.end(); };
  return has(pm::PortCounters::info()) || has(pm::PortCountersExt::info());
}

bool is_word(std::string_view name) {
  if (name.starts_with("peer_")) name.remove_prefix(5);
  if (name == "node" || tools::find_json_word(name) != nullptr || is_field(name)) return true;
  if (!name.ends_with("_text")) return false;
  name.remove_suffix(5);
  const tools::JsonWord* word = tools::find_json_word(name);
  return word != nullptr && word->value.coded;
}

template <class Fabric>
struct Taken : Fabric {
  std::string take(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"snapshot", file});
    const auto outcome = ibtool(this->fabric, std::move(words));
    INFO(outcome.out << outcome.err);
    REQUIRE((outcome.status == 0 || outcome.status == 4));
    return file;
  }
  json document(std::vector<std::string> words) {
    words.emplace_back("--json");
    return json::parse(ibtool(this->fabric, std::move(words)).out);
  }

  ibtest::TemporaryDirectory directory;
  std::string file = directory.file("now");
};

using TwoWays = Taken<ibtest::TwoWayFabric>;
using Counting = Taken<ibtest::CountingFabric>;

/// Holds each cable against the port in the JSON of iblinkinfo.
void check_cables(const json& cables, const json& links) {
  std::size_t found = 0;
  for (const json& node : links.at("nodes")) {
    for (const json& port : node.at("ports")) {
      for (const json& cable : cables) {
        if (cable.at("node_guid") != node.at("node_guid") || cable.at("port_num") != port.at("port_num")) continue;
        ++found;
        CAPTURE(cable.dump(), port.dump());
        for (const char* key : {"state", "state_text", "width", "width_text", "speed", "speed_text", "rate_mbps", "best_width",
                                "best_width_text", "best_speed", "best_speed_text", "lid"})
          CHECK(cable.at(key) == port.at(key));
        for (const char* key : {"node_guid", "node_description", "port_num", "lid"})
          CHECK(cable.at(std::string("peer_") + key) == port.at("peer").at(key));
      }
    }
  }
  CHECK(found == cables.size());
}

}  // namespace

TEST_CASE_METHOD(TwoWays, "the columns of the views are words of the JSON dictionary, or fields") {
  take();
  for (const std::string_view view : views) {
    const std::vector<std::string> columns = columns_of(file, view);
    CAPTURE(view);
    CHECK(columns.size() > 4);
    for (const std::string& column : columns) {
      CAPTURE(column);
      CHECK(is_word(column));
    }
  }
}

TEST_CASE_METHOD(TwoWays, "cables are as iblinkinfo has them, at every speed") {
  // From a switch, so that each cable is named from an end that iblinkinfo lists.
  struct Case {
    std::uint8_t basic, extended, extended2;
    const char* speed;
  };
  for (const Case& of : {Case{1, 0, 0, "SDR"},
                         {2, 0, 0, "DDR"},
                         {4, 0, 0, "QDR"},
                         {4, 1, 0, "FDR"},
                         {4, 2, 0, "EDR"},
                         {4, 4, 0, "HDR"},
                         {4, 8, 0, "NDR"},
                         {4, 0, 1, "XDR"}}) {
    CAPTURE(of.speed);
    for (const auto node : {near, far}) {
      auto& ports = fabric.node(node).ports;
      ports.at(0).info.capability_mask |= 1U << 14 | 1U << 15;
      ports.at(0).info.capability_mask2 |= 1U << 11;
      for (const unsigned number : {2U, 3U}) {
        smp::PortInfo& info = ports.at(number).info;
        info.link_speed_active = of.basic;
        info.link_speed_supported = 7;
        info.link_speed_ext_active = of.extended;
        info.link_speed_ext_active2 = of.extended2;
        info.link_speed_ext_supported = 15;
        info.link_speed_ext_supported2 = 1;
        info.link_width_active = number == 2 ? 1 : 2;
        info.link_width_supported = 31;
      }
    }
    take();
    const json cables = rows_of(file, "cables");
    CHECK(cables.size() == 4);
    json between = json::array();
    for (const json& cable : cables) {
      if (cable.at("best_speed_text") == "XDR") between.push_back(cable);
    }
    CHECK(between.size() == 2);
    for (const json& cable : between) CHECK(cable.at("speed_text") == of.speed);
    check_cables(between, document({"iblinkinfo"}));
    const json slow = rows_of(file, "slow_links");
    for (const json& cable : between) CHECK(std::ranges::count(slow, cable) == 1);  // narrower than 12x
    const json links = rows_of(file, "links");
    CHECK(std::ranges::count_if(links,
                                [&](const json& link) { return link.at("speed") == of.speed && link.at("lanes_supported") == 12; }) == 2);
  }
}

TEST_CASE_METHOD(TwoWays, "fields that the capability mask does not announce do not count") {
  for (const auto node : {near, far}) {
    auto& ports = fabric.node(node).ports;
    ports.at(0).info.capability_mask &= ~(1U << 14);
    for (const unsigned number : {2U, 3U}) {
      ports.at(number).info.link_speed_active = 4;
      ports.at(number).info.link_speed_supported = 4;
      ports.at(number).info.link_speed_ext_active = ports.at(number).info.link_speed_ext_supported = 2;
    }
  }
  take();
  std::size_t between = 0;
  for (const json& cable : rows_of(file, "cables")) {
    if (cable.at("node_description") != "near" || cable.at("peer_node_description") != "far") continue;
    ++between;
    CHECK(cable.at("speed_text") == "QDR");
    CHECK(cable.at("best_speed_text") == "QDR");
  }
  CHECK(between == 2);
}

TEST_CASE_METHOD(TwoWays, "values that were not read are null") {
  fabric.node(far).faults.ignores = smp::PortInfo::attribute_id;
  take();
  const json cable = row_where(rows_of(file, "cables"), "peer_node_description", "far");
  for (const char* key : {"best_speed", "best_speed_text", "best_width", "best_width_text", "peer_lid"}) {
    CAPTURE(key);
    CHECK(cable.at(key).is_null());
  }
  CHECK_FALSE(cable.at("speed").is_null());
}

TEST_CASE_METHOD(TwoWays, "the load of ports is null where the table of the switch was not read completely") {
  fabric.node(far).faults.ignores = smp::LinearForwardingTable::attribute_id;
  take();
  std::size_t known = 0, unknown = 0;
  for (const json& row : rows_of(file, "switch_load")) {
    CAPTURE(row.dump());
    const bool is_null = row.at("routed_lids").is_null();
    CHECK(is_null == (row.at("node_description") == "far"));
    (is_null ? unknown : known) += 1;
    if (row.at("node_description") == "near" && row.at("port_num") == 1) CHECK(row.at("routed_lids") == 1);
  }
  CHECK(known == 3);
  CHECK(unknown == 3);
}

TEST_CASE_METHOD(Counting, "counters come from the widest field that the PMA has, and are null where it has none") {
  pma.count(2, "port_xmit_data") = 0x100000007;
  pma.count(2, "symbol_error_counter") = 0x12345;
  pma.capability_mask &= static_cast<std::uint16_t>(~pm::capability_mask::is_qp1_drop_supported);
  here_pma.capability_mask = 0;
  here_pma.count(1, "port_rcv_errors") = 9;
  take();
  const json rows = rows_of(file, "counters");
  json wide, narrow;
  for (const json& row : rows) {
    const json end = row_where(rows_of(file, "ends"), "node", row.at("node"));
    if (end.at("node_description") == "leaf" && row.at("port_num") == 2) wide = row;
    if (end.at("node_description") == "here") narrow = row;
  }
  CHECK(wide.at("port_xmit_data") == 0x100000007);
  CHECK(wide.at("symbol_error_counter") == 0x12345);
  CHECK(wide.at("qp1_dropped").is_null());
  CHECK(wide.at("port_xmit_wait") == 0);
  CHECK(narrow.at("port_rcv_errors") == 9);
  CHECK(narrow.at("port_xmit_wait").is_null());
  CHECK(narrow.at("port_unicast_xmit_pkts").is_null());
  const json bad = rows_of(file, "ports_with_errors");
  CHECK(bad.size() == 2);
  const json at_leaf = row_where(bad, "node_description", "leaf");
  CHECK((at_leaf.at("port_num") == 2 && at_leaf.at("symbol_error_counter") == 0x12345 && at_leaf.at("peer_node_description") == "other"));
  CHECK(row_where(bad, "node_description", "here").at("port_rcv_errors") == 9);
}

TEST_CASE_METHOD(Counting, "hosts by leaf, and the owner of each LID") {
  fabric.node(other).ports.at(1).info.lmc = 1;
  take();
  const json hosts = rows_of(file, "hosts_by_leaf");
  CHECK(hosts.size() == 3);
  CHECK(row_where(hosts, "port_num", 3).at("peer_port_num") == 2);
  const json lids = rows_of(file, "lids");
  CHECK(lids.size() == 4);
  const json one = row_where(lids, "lid", 3);
  CHECK((one.at("last_lid") == 4 && one.at("node_description") == "other" && one.at("port_num") == 1));
  CHECK(row_where(lids, "node_type_text", "Switch").at("port_num") == 0);
}

TEST_CASE_METHOD(Counting, "a file without the views opens as ever") {
  take();
  const auto before = ibtool(fabric, {"iblinkinfo", "--from", file});
  CHECK(before.out.find("leaf") != std::string::npos);
  for (const std::string_view view :
       {"slow_links", "cables", "links", "switch_load", "lids", "hosts_by_leaf", "ports_with_errors", "counters", "ends"})
    words_of(file, fmt::format("DROP VIEW {}", view));
  CHECK(columns_of(file, "cables").empty());
  const auto after = ibtool(fabric, {"iblinkinfo", "--from", file});
  CHECK(after.out == before.out);
  CHECK(after.status == before.status);
}

}  // namespace tools_snapshot_views_tests
