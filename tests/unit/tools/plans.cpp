// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The plan of MADs of every command that sweeps, in both dialects: nothing is asked twice, what was sent is what was planned and what
// --stats counts beyond it, and a command that shows little asks for little.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_registers.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/stored_fabric.hpp"
#include "tools/frame/commands.hpp"
#include "unit/tools/sample_lines.hpp"

namespace tools_plans_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::Outcome;

namespace {

/// Two spines (LIDs 1 and 2), two leaves (3 and 6) with two hosts each, and at the second leaf a router and a host of which two ports are
/// linked. Each node has a PMA, and there is an SA. The program runs at the first host. What all of them are asked is recorded.
struct Site {
  using Words = std::vector<std::string>;

  FakeFabric fabric;
  FakeFabric::NodeId spine0, spine1, leaf0, leaf1, here, host, far, dual, router;
  ibtest::FakeSa sa{fabric};
  std::vector<ibtest::FakePma*> pmas;
  std::map<std::string, unsigned> smps;  ///< answered SubnGets, by node, attribute and modifier
  std::size_t sent = 0;

  Site() {
    spine0 = fabric.add_switch(0x100, 4, "spine 0");
    spine1 = fabric.add_switch(0x200, 4, "spine 1");
    leaf0 = fabric.add_switch(0x300, 8, "leaf 0");
    leaf1 = fabric.add_switch(0x400, 8, "leaf 1");
    here = fabric.add_ca(0x500, 1, "here");
    host = fabric.add_ca(0x600, 1, "host");
    far = fabric.add_ca(0x700, 1, "far");
    dual = fabric.add_ca(0x800, 2, "dual");
    router = fabric.add_router(0x900, 1, "router");
    fabric.link(leaf0, 1, here, 1);
    fabric.link(leaf0, 2, host, 1);
    fabric.link(leaf0, 3, spine0, 1);
    fabric.link(leaf0, 4, spine1, 1);
    fabric.link(leaf1, 1, far, 1);
    fabric.link(leaf1, 2, dual, 1);
    fabric.link(leaf1, 3, spine0, 2);
    fabric.link(leaf1, 4, spine1, 2);
    fabric.link(leaf1, 5, dual, 2);
    fabric.link(leaf1, 6, router, 1);
    fabric.assign_lids();
    fabric.attach(here);
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      if (fabric.node(id).is_switch()) fabric.node(id).switch_info.multicast_fdb_cap = 64;
      pmas.push_back(&ibtest::run_pma(fabric, id));
      fabric.node(id).services[ibtest::vendor_class].answer = [](unsigned, Bytes request) { return ibtest::answer_to(request, 0xc); };
      fabric.node(id).faults.lie = [this, id](FakeFabric::Answer& answer) { record(id, answer); };
    }
    fabric.network.tamper = [this](Bytes, std::optional<FakeFabric::Answer> answer) {
      ++sent;
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
    fabric.network.rmpp = true;
  }

  void record(FakeFabric::NodeId id, Bytes answer) {
    const mad::HeaderView header(answer);
    if (!mad::is_smp(header.mgmt_class()) || header.method() != mad::response_method(mad::method::get)) return;
    const Bytes data = answer.subspan(mad::data_area(header.mgmt_class()).offset);
    std::uint32_t modifier = header.attribute_modifier();
    // What a node says of itself depends on the port by which it is asked.
    if (header.attribute_id() == smp::NodeInfo::attribute_id) modifier = smp::NodeInfo::unpack(data).local_port_num;
    if (header.attribute_id() == smp::PortInfo::attribute_id && modifier == 0 && !fabric.node(id).is_switch())
      modifier = smp::PortInfo::unpack(data).local_port_num;
    ++smps[smp_key(id, header.attribute_id(), modifier)];
  }

  std::string smp_key(FakeFabric::NodeId id, std::uint16_t attribute, std::uint32_t modifier) {
    return fmt::format("{:#x} attribute {:#x} modifier {:#x}", fabric.node(id).info.node_guid.value, attribute, modifier);
  }

  void forget() {
    smps.clear();
    sent = 0;
    sa.asked.clear();
    for (ibtest::FakePma* pma : pmas) pma->asked.clear();
  }

  /// What was asked more than once with the method Get.
  std::vector<std::string> twice() {
    std::map<std::string, unsigned> asked = smps;
    // Whoever asks LIDs does not know before the answer that `dual` has two of them.
    if (const auto told = asked.find(smp_key(dual, smp::NodeDescription::attribute_id, 0)); told != asked.end() && told->second == 2)
      told->second = 1;
    for (const auto& query : sa.asked) {
      if (query.method == mad::method::set || sa.silent) continue;  // what a silent one is asked are tries
      ++asked[fmt::format("SA {:#x} {:#x} {:#x} {:02x}", query.method, query.attribute, query.component_mask, fmt::join(query.record, ""))];
    }
    // Before each Set its node says who it is.
    const auto sets = [](const ibtest::FakePma* pma) {
      return std::ranges::find(pma->asked, std::uint8_t{mad::method::set}, &ibtest::FakePma::Asked::method) != pma->asked.end();
    };
    if (std::ranges::any_of(pmas, sets))
      std::erase_if(asked, [](const auto& one) { return one.first.find(" attribute 0x11 ") != std::string::npos; });
    // Its two ports have a table of P_Keys each.
    if (const auto pkeys = asked.find(smp_key(dual, smp::PKeyTable::attribute_id, 0)); pkeys != asked.end() && pkeys->second == 2)
      pkeys->second = 1;
    for (const ibtest::FakePma* pma : pmas) {
      for (const auto& one : pma->asked) {
        // The two linked ports of `dual` are two agents with a ClassPortInfo each.
        if (pma == pmas.at(dual) && one.attribute == mad::ClassPortInfo::attribute_id) continue;
        if (one.method == mad::method::get) ++asked[fmt::format("PMA {} {:#x} port {}", fmt::ptr(pma), one.attribute, one.port)];
      }
    }
    std::vector<std::string> found;
    for (const auto& [what, times] : asked) {
      if (times > 1) found.push_back(fmt::format("{} times {}", times, what));
    }
    return found;
  }

  /// How often nodes were asked for an attribute; of one node if `id` is given.
  unsigned times(std::uint16_t attribute, std::optional<FakeFabric::NodeId> id = {}) {
    unsigned sum = 0;
    for (const auto& [what, times] : smps) {
      const bool is_it = what.find(fmt::format(" attribute {:#x} ", attribute)) != std::string::npos;
      const bool is_there = !id || what.starts_with(fmt::format("{:#x} ", fabric.node(*id).info.node_guid.value));
      sum += is_it && is_there ? times : 0;
    }
    return sum;
  }

  std::string lid(FakeFabric::NodeId id, unsigned port) { return std::to_string(fabric.node(id).ports.at(port).info.lid.value); }
  std::string guid(FakeFabric::NodeId id, unsigned port) { return to_text(fabric.port_guid(id, port)); }
  std::string diags_guid(FakeFabric::NodeId id, unsigned port) { return fmt::format("{:#x}", fabric.port_guid(id, port).value); }

  Outcome ibtool(Words words) {
    forget();
    words.insert(words.begin() + 1, "--stats");
    return ibtest::ibtool(fabric, std::move(words));
  }
  Outcome diags(Words words) {
    forget();
    return ibtest::diags(fabric, std::move(words));
  }
};

/// What --stats says.
struct Told {
  std::size_t planned = 0, sent = 0, beyond = 0;
  unsigned plans = 0;  ///< lines that tell of a plan

  explicit Told(const std::string& err) {
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t number = std::strtoul(line.c_str() + line.rfind(' ') + 1, nullptr, 10);
      if (line.starts_with("mads planned: ")) planned = number, ++plans;
      if (line.starts_with("mads sent: ")) sent = number;
      if (line.starts_with("mads beyond plan: ")) beyond += number;
    }
  }
};

void check_sums(const Site& site, const Outcome& outcome) {
  const Told told(outcome.err);
  CHECK(told.plans == 1);
  CHECK(told.sent == site.sent);
  CHECK(told.planned + told.beyond == told.sent);
}

/// infiniband-diags' ibroute and ibtracert ask nodes by their LIDs that they ask by another path as well, and tell on stderr of each
/// request that is not answered.
bool asks_twice_as_diags(const std::string& line) { return line.starts_with("ibtracert ") || line.starts_with("ibroute "); }

std::string line_of(const Site::Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// The usage line of each command that sweeps, by its name, but of the group that sets ports: those read anew what they write back.
std::map<std::string, std::string> sweeping(Site& site) {
  std::map<std::string, std::string> all;
  for (const tools::CommandInfo* info : tools::commands()) {
    const std::string name(info->name), help = ibtest::ibtool(site.fabric, {name, "--help"}).out, usage = "Usage: ibtool " + name;
    if (info->group == tools::HelpGroup::config || help.find("--discovery") == std::string::npos) continue;
    const std::size_t begin = help.find(usage);
    REQUIRE(begin != std::string::npos);
    all[name] = help.substr(begin + usage.size(), help.find('\n', begin) - begin - usage.size());
  }
  return all;
}

/// What stands in the sample lines.
std::map<std::string, std::string> places(Site& site) {
  return {{"leaf", site.lid(site.leaf0, 0)},
          {"leaf-guid", site.guid(site.leaf0, 0)},
          {"leaf-hex", site.diags_guid(site.leaf0, 0)},
          {"dual-guid", site.guid(site.dual, 2)},
          {"dual-node", to_text(site.fabric.node(site.dual).info.node_guid)},
          {"leaf1-node", to_text(site.fabric.node(site.leaf1).info.node_guid)},
          {"host-guid", site.guid(site.host, 1)},
          {"here", site.lid(site.here, 1)},
          {"far", site.lid(site.far, 1)},
          {"far-hex", site.diags_guid(site.far, 1)},
          {"fabric", ibtest::stored_fabric()}};
}

/// Command lines of ibtool that read the fabric, or a part of it: each command that sweeps and needs no operand as it is, and more.
std::vector<Site::Words> readers(Site& site) {
  std::vector<Site::Words> all;
  for (const auto& [name, usage] : sweeping(site)) {
    const bool needs_none = usage.empty() || usage.starts_with(" [");
    if (needs_none && name != "health" && !name.starts_with("ibclear")) all.push_back({name});  // these need options: below
  }
  for (ibtest::SampleLine& line : ibtest::sample_lines("asks-once", places(site))) all.push_back(std::move(line.words));
  return all;
}

}  // namespace

TEST_CASE_METHOD(Site, "ibtool's commands request nothing twice, and count all that they sent") {
  pmas.at(leaf0)->count(2, "symbol_error_counter") = 3;
  pmas.at(dual)->count(2, "port_rcv_errors") = 3;
  for (Words words : readers(*this)) {
    for (const char* more : {"", "--json", "--discovery=DR", "--discovery=SA"}) {
      if (*more != '\0') words.emplace_back(more);
      INFO("ibtool " << line_of(words));
      const Outcome outcome = ibtool(words);
      CAPTURE(outcome.err);
      CHECK(outcome.status <= 1);
      std::vector<std::string> repeated = twice();
      // Once more before its counters are read, so that they are not those of another node.
      if (words[0] == "health") std::erase_if(repeated, [](const std::string& one) { return one.find("attribute 0x11 ") != one.npos; });
      CHECK(repeated == std::vector<std::string>{});
      check_sums(*this, outcome);
      if (*more != '\0') words.pop_back();
    }
  }
}

TEST_CASE_METHOD(Site, "every command that sweeps is one of them") {
  const std::vector<Words> lines = readers(*this);
  const auto commands = sweeping(*this);
  CHECK(commands.size() > 20);
  for (const auto& one : commands) {
    INFO(one.first);
    CHECK(std::ranges::any_of(lines, [&](const Words& words) { return words[0] == one.first; }));
  }
}

TEST_CASE_METHOD(Site, "a name is looked up in what the command reads anyway") {
  SECTION("from the SA") {}
  SECTION("by a sweep where there is no SA") { sa.silent = true; }
  for (const Words& words : std::vector<Words>{{"ibfindnodesusing", "leaf 0", "3"},
                                               {"iblinkinfo", "leaf 0"},
                                               {"ibqueryerrors", "leaf 0"},
                                               {"ibqueryerrors", "-r", "dual"},
                                               {"set_port_state", "--dry-run", "--disable", "leaf 1@1"}}) {
    for (const char* more : {"--discovery=LID", "--discovery=DR", "--discovery=SA"}) {
      if (sa.silent && more == std::string_view("--discovery=SA")) continue;
      INFO("ibtool " << line_of(words) << (sa.silent ? " without an SA" : ""));
      Words all = words;
      all.emplace_back(more);
      const Outcome outcome = ibtool(std::move(all));
      CAPTURE(outcome.err);
      CHECK(outcome.status <= 1);
      // What is written back by a Set is read anew.
      // So is who the node is.
      for (auto& [what, times] : smps) {
        const bool is_who = what.starts_with(fmt::format("{:#x} ", fabric.node(leaf1).info.node_guid.value)) &&
                            what.find(" attribute 0x11 ") != std::string::npos;
        if (words[0] == "set_port_state" && (is_who || what == smp_key(leaf1, smp::PortInfo::attribute_id, 1))) --times;
      }
      CHECK(twice() == std::vector<std::string>{});
      check_sums(*this, outcome);
    }
  }
}

TEST_CASE_METHOD(Site, "two names are looked up in one table, or one sweep") {
  CHECK(ibtool({"ibtracert", "here", "far"}).status == 0);
  CHECK(twice() == std::vector<std::string>{});
  sa.silent = true;
  CHECK(ibtool({"ibtracert", "here", "far"}).status == 0);
  CHECK(times(smp::NodeDescription::attribute_id, router) == 1);
  CHECK(twice() == std::vector<std::string>{});  // the nodes on the way were asked by the sweep
}

TEST_CASE_METHOD(Site, "values that a Set writes back are read at most once more, and this is reported") {
  const Outcome outcome = ibtool({"set_port_state", "--disable", lid(leaf1, 0) + "@1"});
  CAPTURE(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(twice().size() <= 2);
  CHECK_THAT(outcome.err, contains("mads beyond plan: values read again before a Set 1\n"));
  check_sums(*this, outcome);
}

TEST_CASE_METHOD(Site, "infiniband-diags' names request nothing twice") {
  pmas.at(leaf0)->count(2, "symbol_error_counter") = 3;
  for (const auto& [arguments, words] : ibtest::sample_lines("asks-once-legacy", places(*this))) {
    INFO(line_of(words));
    const Outcome outcome = diags(words);
    CAPTURE(outcome.err, outcome.out);
    CHECK(outcome.status <= 1);
    if (!asks_twice_as_diags(line_of(words))) CHECK(twice() == std::vector<std::string>{});
  }
}

TEST_CASE_METHOD(Site, "where something is silent, the sums are still right") {
  SECTION("a host") { fabric.node(far).faults.silent = true; }
  SECTION("a host after its NodeInfo") { fabric.node(far).faults.ignores = smp::PortInfo::attribute_id; }
  SECTION("a switch in the middle of its ports") { fabric.node(leaf1).faults.answers_left = 6; }
  SECTION("PMAs") {
    for (const FakeFabric::NodeId id : {leaf1, far}) pmas.at(id)->service().faults.silent = true;
  }
  SECTION("the SA") { sa.silent = true; }
  for (const Words& words : readers(*this)) {
    INFO("ibtool " << line_of(words));
    check_sums(*this, ibtool(words));
    if (fabric.node(leaf1).faults.answers_left != ~0U) fabric.node(leaf1).faults.answers_left = fabric.node(leaf1).answered + 6;
  }
}

TEST_CASE_METHOD(Site, "a list requests what it shows, and lists of links the ports of switches") {
  constexpr std::size_t links = 10, external = 4 + 4 + 8 + 8, switches = 4, hosts = 4;
  const auto planned = [this](Words words) { return Told(ibtool(std::move(words)).err).planned; };
  // NodeInfo of the start and over each link, the PortInfo of the start and of each port of a switch.
  constexpr std::size_t found = 1 + links + 1 + external;
  CHECK(planned({"ibhosts", "--discovery=DR"}) == found + hosts);
  CHECK(times(smp::SwitchInfo::attribute_id) == 0);
  CHECK(times(smp::NodeDescription::attribute_id, leaf0) == 0);
  CHECK(times(smp::NodeDescription::attribute_id, dual) == 1);
  CHECK(times(smp::PortInfo::attribute_id, dual) == 0);
  CHECK(planned({"ibhosts", "--discovery=LID"}) == found + hosts + switches);  // their LIDs
  CHECK(planned({"ibhosts", "--discovery=DR", "--json"}) == found + hosts);
  CHECK(planned({"ibrouters", "--discovery=DR"}) == found + 1);
  CHECK(planned({"ibswitches", "--discovery=DR"}) == found + 3 * switches);
  CHECK(planned({"ibnodes", "--discovery=DR"}) == found + 3 * switches + hosts);
  // What the whole topology takes: 1 + C + L + 2C + S(P+3), where a host with two linked ports counts one link and one port more
  CHECK(planned({"ibnetdiscover", "--discovery=DR"}) == 1 + links + (hosts + 1) + (links - 4) + external + 3 * switches);
  CHECK(planned({"ibnetdiscover", "--discovery=DR", "-l"}) == found + hosts + 1 + switches);
  CHECK(planned({"ibidsverify", "--discovery=DR"}) == found + 5 + switches);
  CHECK(times(smp::NodeDescription::attribute_id) == 0);
  CHECK(planned({"ibhosts", "--discovery=SA"}) == 1);
  CHECK(planned({"ibswitches", "--discovery=SA"}) == 3);
  CHECK(planned({"ibnetdiscover", "--discovery=SA"}) == 4);
}

TEST_CASE_METHOD(Site, "attributes that were not requested are shown as unknown, not as zero") {
  const Outcome hosts = ibtool({"ibhosts", "--json"});
  CHECK_THAT(hosts.out, !contains("\"lid\": 0"));
  CHECK(ibtool({"ibhosts"}).status == 0);
  const Outcome switches = ibtool({"ibswitches"});
  CHECK_THAT(switches.out, contains("\"leaf 0\" base port 0 lid " + lid(leaf0, 0) + " lmc 0\n"));
}

TEST_CASE_METHOD(Site, "a switch that fails is named although a list of hosts reads no names of switches") {
  fabric.node(leaf1).faults.status = mad::status::unsupported_method_attribute;
  fabric.node(leaf1).faults.status_attribute = smp::PortInfo::attribute_id;
  const Outcome outcome = ibtool({"ibhosts", "--discovery=DR"});
  CHECK(outcome.status == 4);
  CHECK_THAT(outcome.err,
             contains("'leaf 1' refuses to report its PortInfo") && contains("mads beyond plan: names of nodes that failed 1\n"));
  CHECK(times(smp::NodeDescription::attribute_id, leaf0) == 0);
  check_sums(*this, outcome);
}

TEST_CASE_METHOD(Site, "the counters of one node need only the path to it, and no neighbour") {
  const auto path_queries = [this] {
    std::size_t gets = 0;
    for (const auto& query : sa.asked) {
      if (query.attribute != sa::PathRecord::attribute_id) continue;
      CHECK(query.method == mad::method::get);
      ++gets;
    }
    return gets;
  };
  for (const std::string& target : {lid(leaf0, 0), guid(leaf0, 0), std::string("0,1")}) {
    INFO(target);
    const Outcome outcome = ibtool({"ibqueryerrors", target});
    CHECK(outcome.status == 0);
    CHECK(path_queries() == 1);
    CHECK(times(smp::NodeInfo::attribute_id) == 1);
    CHECK(times(smp::PortInfo::attribute_id) == times(smp::PortInfo::attribute_id, leaf0));
  }
  CHECK(diags({"ibqueryerrors", "-G", diags_guid(leaf0, 0)}).status == 0);
  CHECK(path_queries() <= 2);  // the LID of the GUID, then the service level
  CHECK(diags({"ibqueryerrors", "-D", "0,1,2"}).status == 0);
  CHECK(path_queries() == 1);
  sa.silent = true;
  CHECK_THAT(ibtool({"ibqueryerrors", lid(leaf0, 0)}).err, contains("SL 0 is used: "));
}

TEST_CASE_METHOD(Site, "counters cost what pma_readings says: one ClassPortInfo and one sum a node, ports where the sum shows errors") {
  pmas.at(leaf0)->count(2, "symbol_error_counter") = 3;
  const Outcome outcome = ibtool({"ibqueryerrors", "--discovery=DR"});
  CHECK(outcome.status == 1);
  constexpr std::size_t nodes = 9, ports_of_leaf = 8, paths = 1;
  std::size_t asked = 0;
  for (const ibtest::FakePma* pma : pmas) asked += pma->asked.size();
  CHECK(asked == 2 * nodes + ports_of_leaf);
  const std::size_t sweep = Told(ibtool({"ibnetdiscover", "--discovery=DR"}).err).planned;
  CHECK(Told(outcome.err).planned == sweep + asked + paths);
}

TEST_CASE_METHOD(Site, "tables cost their blocks") {
  const Outcome outcome = ibtool({"check_lft_balance", "--discovery=DR"});
  constexpr std::size_t switches = 4, others = 5, blocks = 1;
  const std::size_t sweep = Told(ibtool({"ibnetdiscover", "--discovery=DR"}).err).planned;
  CHECK(Told(outcome.err).planned == sweep - others + switches * blocks);
}

TEST_CASE_METHOD(Site, "routes cost the blocks of tables that are not read elsewhere") {
  const Outcome outcome = ibtool({"check_routes", "--discovery=DR", "--unicast"});
  const std::size_t sweep = Told(ibtool({"ibnetdiscover", "--discovery=DR"}).err).planned;
  constexpr std::size_t switches = 4, blocks = 1, adaptive_routing = 1;
  CHECK(Told(outcome.err).planned == sweep + switches * (blocks + adaptive_routing));
}

}  // namespace tools_plans_tests
