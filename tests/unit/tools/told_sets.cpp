// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What commands print of the Sets that they have sent, and with --dry-run of those that they would send.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/frame/commands.hpp"
#include "unit/tools/sample_lines.hpp"
#include "unit/tools/set_site.hpp"

namespace tools_sets_tests {

using nlohmann::json;

namespace {

/// set_nodedesc writes into sysfs and sends nothing.
void check_nodedesc_dry_run() {
  ibtest::FakeSysfs sysfs;
  sysfs.device("mlx5_0", "0002:c903:0000:1490");
  sysfs.port("mlx5_0", {});
  const std::string file = "class/infiniband/mlx5_0/node_desc";
  sysfs.write(file, "old");
  const Outcome dry = ibtool({"set_nodedesc", "new", "--dry-run"});
  CHECK(dry.status == 0);
  CHECK(dry.out == "Would set mlx5_0: new (is 'old')\n");
  CHECK(json::parse(ibtool({"set_nodedesc", "new", "--dry-run", "--json"}).out)["dry_run"] == true);
  std::ifstream now(sysfs.root() / file);
  CHECK(std::string(std::istreambuf_iterator<char>(now), {}) == "old");
}

/// A line of each command that changes something, and what it prints of the change, besides the name and the GUID of the node.
struct ChangingLine {
  Words words;
  std::string port;  ///< empty: the change concerns the node or all of the fabric
  std::string node;  ///< empty: of the whole fabric there is a sum
};
std::vector<ChangingLine> changing_lines() {
  std::vector<ChangingLine> lines;
  for (ibtest::SampleLine& line : ibtest::sample_lines("changes")) {
    line.arguments.resize(2);
    lines.push_back({std::move(line.words), line.arguments[1], line.arguments[0]});
  }
  return lines;
}

std::string guid_of(const std::string& node) {
  return node == "spine" ? "0000:0000:0000:0100" : node == "other" ? "0000:0000:0000:0500" : "0000:0000:0000:0300";
}

}  // namespace

TEST_CASE_METHOD(Site, "the report of a change names node, GUID and port") {
  const Outcome set = ibtool(fabric, {"ibportstate", "3", "3", "down"});
  CHECK(set.status == 0);
  CHECK_THAT(set.err, contains("'leaf10' 0000:0000:0000:0300 port 3:"));
  const Outcome several = ibtool(fabric, {"set_port_state", "--enable", "3@3", "--discovery=DR"});
  CHECK_THAT(several.err, contains("Enabled 0000:0000:0000:0300@3 'leaf10'\n"));
  const Outcome dry = ibtool(fabric, {"init_all_ports", "--dry-run"});
  CHECK_THAT(dry.out, contains("Would have set port 3 of 0000:0000:0000:0300 'leaf10' down on DR Path ("));
  CHECK_THAT(ibtool(fabric, {"ibclearcounters", "5"}).out, contains("Clear counters lid 5 (other, 0000:0000:0000:0500) port 1: OK\n"));
  CHECK_THAT(ibtool(fabric, {"ibclearerrors", "leaf10"}).out,
             contains("Clear counters lid 3 (leaf10, 0000:0000:0000:0300) all ports: OK\n"));
  CHECK_THAT(ibtool(fabric, {"ibclearcounters", "--yes"}).out, !contains("Clear counters lid"));
}

TEST_CASE_METHOD(Site, "every command that changes something prints once which node and port it has changed") {
  for (const ChangingLine& line : changing_lines()) {
    if (line.node.empty()) continue;
    Site site;
    const FakeSa sa(site.fabric);
    site.run_all_agents();
    site.fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
      const ib::mad::HeaderView header(request);
      const bool changes = header.method() == ib::mad::method::set || header.method() == ib::mad::method::delete_;
      // The SA accepts what it is told.
      if (header.mgmt_class() == ib::mad::mgmt_class::sa && changes) return std::vector<FakeFabric::Answer>{ibtest::answer_to(request)};
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
    const Outcome done = ibtool(site.fabric, line.words);
    INFO(fmt::format("{}", fmt::join(line.words, " ")) << ": " << done.out << done.err);
    CHECK(done.status == 0);
    std::size_t told = 0;
    for (const std::string& text : {done.out, done.err}) {
      for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        const std::string row = text.substr(at, text.find('\n', at) - at);
        const bool is_it = row.find(line.node) != std::string::npos && row.find(guid_of(line.node)) != std::string::npos;
        if (is_it && row.find(line.port) != std::string::npos) ++told;
      }
    }
    CHECK(told >= 1);
    // Counters are in two attributes, each with a Set of its own.
    CHECK(told <= (line.words[0] == "perfquery" ? 2 : 1));
    if (line.words[0] != "ibqueryerrors" && line.words[0].find("ibclear") != 0) CHECK(std::ranges::count(done.err, '\n') <= 2);
    CHECK(ibtool(site.fabric, line.words).err == done.err);
  }
}

TEST_CASE_METHOD(Site, "the name of a node costs one request, whatever the number of its Sets") {
  const FakeSa sa(fabric);
  unsigned names = 0;
  fabric.network.tamper = [&](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
    const ib::mad::HeaderView header(request);
    if (ib::mad::is_smp(header.mgmt_class()) && header.attribute_id() == ib::smp::NodeDescription::attribute_id) ++names;
    return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  CHECK(ibtool(fabric, {"perfquery", "-R", "3", "3"}).status == 0);
  CHECK(names == 1);
  names = 0;
  CHECK(diags(fabric, {"perfquery", "-R", "3", "3"}).err.empty());
  CHECK(names == 0);
}

TEST_CASE_METHOD(Site, "with --sa the name of a node comes from the SA, and no SMP is sent for it") {
  const FakeSa sa(fabric);
  unsigned smps = 0;
  fabric.network.tamper = [&](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
    const ib::mad::HeaderView header(request);
    if (ib::mad::is_smp(header.mgmt_class())) ++smps;
    if (header.mgmt_class() == ib::mad::mgmt_class::sa && header.method() == ib::mad::method::set)
      return std::vector<FakeFabric::Answer>{ibtest::answer_to(request)};
    return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  const Outcome done = ibtool(fabric, {"set_guid", "5", "1", "0x77", "--sa"});
  CHECK(done.err == "Set SAGUIDInfoRecord of 'other' 0000:0000:0000:0500 port 1\n");
  CHECK(smps == 0);
}

TEST_CASE_METHOD(Site, "a Set that is refused, and a dry run, are not said to be done") {
  const FakeSa sa(fabric);
  CHECK_THAT(ibtool(fabric, {"perfquery", "-R", "3", "3", "--dry-run"}).err, !contains("Set "));
  pmas[2]->unsupported.insert(ib::pm::PortCounters::attribute_id);
  CHECK_THAT(ibtool(fabric, {"perfquery", "-R", "3", "3"}).err, !contains("Set PMPortCounters of"));
}

TEST_CASE_METHOD(Site, "every command that changes something has --dry-run, which sends no Set and shows each") {
  FakeSa sa(fabric);
  pmas[2]->count(3, "symbol_error_counter") = 7;
  std::vector<Words> lines;
  for (const ChangingLine& line : changing_lines()) lines.push_back(line.words);
  run_all_agents();
  for (const Words& line : lines) {
    Words words = line;
    words.emplace_back("--dry-run");
    const Outcome dry = ibtool(fabric, words);
    INFO(fmt::format("{}", fmt::join(line, " ")) << ": " << dry.out << dry.err);
    CHECK(dry.status == (line[0] == "ibqueryerrors" && dry.status == 1 ? 1 : 0));
    CHECK_THAT(dry.out, contains("Would "));
    words.emplace_back("--json");
    const json report = json::parse(ibtool(fabric, words).out);
    CHECK(report["dry_run"] == true);
  }
  check_nodedesc_dry_run();
  CHECK(fabric.sets.empty());
  CHECK(pma_sets() == 0);
  for (const std::uint8_t method : {ib::mad::method::set, ib::mad::method::delete_})
    CHECK(std::ranges::count(sa.asked, method, &FakeSa::Query::method) == 0);
  CHECK(agent_sets == 0);
  const Outcome one = ibtool(fabric, {"perfquery", "-R", "3", "3", "--dry-run"});
  CHECK_THAT(one.out, contains("Would send PerformanceSet(PMPortCounters) 0 to 0000:0000:0000:0300 'leaf10' by Path 4 -> 3") &&
                          contains(" portSelect=3 "));
  // The SA gets this request, and another node the GUID.
  CHECK_THAT(ibtool(fabric, {"set_guid", "5", "1", "0x77", "--dry-run"}).out,
             contains("Would send SubnAdmSet(SAGUIDInfoRecord) 0 for 0000:0000:0000:0500 'other' by "));
  for (const ib::tools::CommandInfo* info : ib::tools::commands()) {
    if (!info->changes) continue;
    INFO(info->name);
    const bool is_in_list = std::ranges::any_of(lines, [info](const Words& line) { return line[0] == info->name; });
    CHECK((is_in_list || info->name == "set_nodedesc"));
    CHECK_THAT(ibtool({"help", std::string(info->name)}).out, contains("--dry-run"));
  }
}

TEST_CASE_METHOD(Site, "keys of a Set are not displayed in a dry run") {
  const Outcome dry = ibtool(fabric, {"query", "SubnSet", "SMPPortInfo", "5", "-f", "mKey=0x1234567890", "--dry-run"});
  CAPTURE(dry.err);
  CHECK_THAT(dry.out, contains("MKey=(not displayed)"));
  CHECK_THAT(dry.out, !contains("1234567890"));
}

}  // namespace tools_sets_tests
