// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Set reaches the node that was meant, or none, whatever changes hands, is named in part or is remembered.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "iba-gen/pm.hpp"
#include "unit/tools/set_site.hpp"

namespace tools_sets_tests {

using nlohmann::json;

TEST_CASE_METHOD(Site, "a cable that was moved between the sweep and the Set: nothing is set") {
  const auto swap = [this] {  // what is behind port 1 of the spine is behind port 2 now, and the other way round
    fabric.link(spine, 2, leaf10, 4);
    fabric.link(leaf1, 3, other, 1);
    std::swap(fabric.node(leaf10).info.node_guid, fabric.node(other).info.node_guid);
  };
  const Words words{"set_port_state", "--discovery=DR", "--enable", "0,1,1,2@3"};
  REQUIRE(run_changing(words, 0, [] {}).status == 0);
  REQUIRE(fabric.sets.size() == 1);
  fabric.sets.clear();
  // The identity of the node is the last request but the Set itself.
  const Outcome moved = run_changing(words, requests_ - 2, swap);
  CAPTURE(moved.err);
  CHECK(fabric.sets.empty());
  CHECK(moved.status == 4);
  CHECK_THAT(moved.err, contains("was meant"));
}

TEST_CASE_METHOD(Site, "init_all_ports leaves out what is not where the sweep found it") {
  const Outcome dry = run_changing({"init_all_ports", "--dry-run", "--json"}, 0, [] {});
  const std::size_t ports = json::parse(dry.out)["ports"].size();
  REQUIRE(ports == 10);
  // The dry run reads two attributes for each port behind the sweep. All of leaf10 is another node then.
  const unsigned behind_sweep = requests_ - 2 * static_cast<unsigned>(ports) + 1;
  const Outcome moved =
      run_changing({"init_all_ports", "--yes", "--json"}, behind_sweep, [this] { fabric.node(leaf10).info.node_guid = ib::Guid{0x999}; });
  CAPTURE(moved.err);
  const json report = json::parse(moved.out);
  CHECK(moved.status == 4);
  CHECK(report["ports_failed"] == 3);
  CHECK(report["ports_set"] == 7);
  CHECK(fabric.sets.size() == 7);
  CHECK_THAT(moved.err, contains("leads to the node 0000:0000:0000:0999 now, and 0000:0000:0000:0300 was meant: nothing was set"));
}

TEST_CASE_METHOD(Site, "commands that change the fabric take no fabric from a file") {
  for (const Words& words :
       std::vector<Words>{{"set_port_state", "--disable", "2@3"}, {"init_all_ports", "--yes"}, {"ibclearcounters", "--yes"}}) {
    for (const char* option : {"--cache", "--load-cache"}) {
      Words with = words;
      with.insert(with.end(), {option, "/nowhere/fabric"});
      const Outcome refused = ibtool(fabric, with);
      INFO(words[0] << ' ' << option);
      CHECK(refused.status == 2);
      CHECK(std::ranges::count(refused.err, '\n') == 1);
    }
    // The variable is ignored: nothing reads the file, and nothing writes it.
    const Outcome live = ibtool(fabric, words, {.cache = "/nowhere/fabric"});
    CHECK(live.status == 0);
  }
  for (const char* option : {"--cache", "--load-cache"}) {
    const Outcome refused = ibtool(fabric, {"ibqueryerrors", "-k", option, "/nowhere/fabric"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains("excludes -k and -K"));
  }
  for (const Words& option : std::vector<Words>{{"--refresh-cache"}, {"--cache-age", "1d"}}) {
    Words words{"ibqueryerrors", "-k"};
    words.insert(words.end(), option.begin(), option.end());
    const Outcome refused = ibtool(fabric, words);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains(option[0] + " excludes -k and -K"));
  }
}

TEST_CASE_METHOD(Site, "a word of a name goes before a piece of another one") {
  const Outcome told = ibtool(fabric, {"smpquery", "NI", "leaf1"});
  CHECK_THAT(told.out, contains("0000:0000:0000:0200"));
  const Outcome set = ibtool(fabric, {"ibportstate", "leaf1", "3", "enable"});
  CAPTURE(set.err);
  CHECK(set.status == 0);
  CHECK_THAT(set.err, contains("'MF0;leaf1:SB7800/U1' 0000:0000:0000:0200 port 3"));
}

TEST_CASE_METHOD(Site, "a piece of a name selects nothing that is set") {
  std::ranges::fill(fabric.node(leaf1).description, std::uint8_t{0});
  CHECK(ibtool(fabric, {"ibportstate", "leaf1", "3", "query"}).status == 0);  // it may be read
  for (const Words& words : std::vector<Words>{{"ibportstate", "leaf1", "3", "disable"},
                                               {"ibportstate", "leaf1", "3", "disable", "--dry-run"},
                                               {"set_port_state", "--disable", "leaf1@3"},
                                               {"perfquery", "-R", "leaf1", "3"},
                                               {"ibclearcounters", "leaf1"},
                                               {"ibqueryerrors", "-k", "leaf1"},
                                               {"query", "SubnSet", "SMPPortInfo", "leaf1"}}) {
    const Outcome refused = ibtool(fabric, words);
    INFO(words[0] << ": " << refused.err);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains("'leaf1' is only a piece of the name 'leaf10' of 0000:0000:0000:0300"));
  }
  CHECK(fabric.sets.empty());
  CHECK(pma_sets() == 0);
}

TEST_CASE_METHOD(Site, "a LID that changed hands since the SA named it: the Set is refused, by SMP and by GMP") {
  FakeSa sa(fabric);
  sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != ib::sa::NodeRecord::attribute_id) return;
    for (FakeSa::Record& record : records) {  // leaf10 is said to have the LID of the spine
      if (ib::sa::NodeRecord::unpack(record).node_info.node_guid == ib::Guid{0x300}) record[1] = 1;
    }
  };
  for (const Words& words : std::vector<Words>{{"ibportstate", "leaf10", "3", "speed", "1"},
                                               {"perfquery", "-R", "leaf10", "3"},
                                               {"query", "PerformanceSet", "PMPortCounters", "leaf10", "-f", "port_select=3"}}) {
    const Outcome refused = ibtool(fabric, words);
    INFO(words[0] << ": " << refused.err);
    CHECK(refused.status == 3);
    CHECK_THAT(refused.err, contains("leads to the node 0000:0000:0000:0100 now, and 0000:0000:0000:0300 was meant"));
  }
  CHECK(fabric.sets.empty());
  CHECK(pma_sets() == 0);
}

TEST_CASE_METHOD(Site, "by the legacy name, too, a GUID whose LID changed hands is not set") {
  FakeSa sa(fabric);
  sa.path_lie = [](ib::sa::PathRecord& record) { record.dlid = ib::Lid{1}; };  // of leaf10, the SA says
  for (const Words& words : std::vector<Words>{{"perfquery", "-R", "-G", "0x300", "3"}, {"perfquery", "-r", "-G", "0x300", "3"}}) {
    const Outcome refused = diags(fabric, words);
    INFO(words[0] << ": " << refused.out << refused.err);
    CHECK(refused.status == 255);
    CHECK_THAT(refused.err, contains("0000:0000:0000:0300 was meant: nothing was set"));
  }
  CHECK(fabric.sets.empty());
  CHECK(pma_sets() == 0);
}

TEST_CASE_METHOD(Site, "a path to another port than requested is not used by any command") {
  FakeSa sa(fabric);
  sa.path_lie = [](ib::sa::PathRecord& record) {
    record.dlid = ib::Lid{1};
    record.dgid = ib::Gid::from(record.dgid.prefix(), ib::Guid{0x100});
  };
  for (const Words& words :
       std::vector<Words>{{"perfquery", "-R", "-G", "0x300", "3"}, {"perfquery", "-G", "0x300", "3"}, {"perfquery", "5"}}) {
    const Outcome refused = ibtool(fabric, words);
    INFO(words[1] << ": " << refused.err);
    CHECK(refused.status == 3);
    CHECK_THAT(refused.err, contains("The SA answered with a path to"));
  }
  const Outcome legacy = diags(fabric, {"perfquery", "-R", "-G", "0x300", "3"});
  CHECK(legacy.status != 0);
  CHECK(pma_sets() == 0);
}

TEST_CASE_METHOD(Site, "a directed route and the LID that the SA gives for its end lead to one node, or nothing is set") {
  FakeSa sa(fabric);
  CHECK(ibtool(fabric, {"perfquery", "-R", "0,1,1,2", "3"}).status == 0);
  CHECK(pma_sets() == 1);
  sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != ib::sa::LinkRecord::attribute_id) return;
    for (FakeSa::Record& record : records) {  // the link to leaf10 is said to lead to the other host
      auto link = ib::sa::LinkRecord::unpack(record);
      if (link.to_lid == ib::Lid{3}) link.to_lid = ib::Lid{5};
      link.pack(record);
    }
  };
  const Outcome refused = ibtool(fabric, {"perfquery", "-R", "0,1,1,2", "3"});
  CAPTURE(refused.err);
  CHECK(refused.status == 3);
  CHECK_THAT(refused.err, contains("was meant"));
  CHECK(pma_sets() == 1);
}

TEST_CASE_METHOD(Site, "between Get and Set another node takes the LID or the route: nothing is set") {
  constexpr std::uint8_t smp = ib::mad::mgmt_class::smp, pm = ib::mad::mgmt_class::performance, cc = ib::mad::mgmt_class::congestion,
                         vendor = ib::subnet::mlnx_vendor_class;
  struct Line {
    std::uint8_t mgmt_class;  ///< of the Get after which the node is another one
    Words words;
    bool legacy = false;
  };
  const FakeSa sa(fabric);
  run_all_agents();
  const Words port_setting{"SP", "3", "3", "1", "1", "2", "3", "4"};
  std::vector<Line> lines{{pm, {"perfquery", "-r", "3", "3"}},
                          {pm, {"perfquery", "-R", "3", "255"}},
                          {pm, {"perfquery", "-r", "0,1,1,2", "3"}},
                          {pm, {"query", "PerformanceSet", "PMPortCounters", "3", "-f", "portSelect=3"}},
                          {smp, {"query", "SubnSet", "SMPPortInfo", "3", "-a", "3", "-f", "mKeyLeasePeriod=3"}},
                          {smp, {"query", "SubnSet", "SMPPortInfo", "0,1,1,2", "-a", "3", "-f", "mKeyLeasePeriod=3"}},
                          {smp, {"sminfo", "3", "1"}},
                          {smp, {"ibportstate", "3", "3", "down"}},
                          {smp, {"vendstat", "-c", "1,2", "3", "1"}},
                          {vendor, {"vendstat", "-R", "10", "-W", "10,1", "3"}},
                          {smp, {"ibportstate", "3", "3", "speed", "1"}, true},
                          {pm, {"perfquery", "-r", "3", "3"}, true},
                          {pm, {"perfquery", "-R", "3", "255"}, true},
                          {vendor, {"vendstat", "-R", "10", "-W", "10,1", "3"}, true}};
  for (const bool legacy : {false, true}) {
    lines.push_back({cc, {"ibccconfig"}, legacy});
    lines.back().words.insert(lines.back().words.end(), port_setting.begin(), port_setting.end());
  }
  const std::uint16_t device = fabric.node(leaf10).info.device_id;
  for (const Line& line : lines) {
    Outcome outcome;
    // Of some devices infiniband-diags reads MlnxExtPortInfo, too, which this one does not have.
    fabric.node(leaf10).info.device_id = line.legacy && line.words.front() == "ibportstate" ? 1 : device;
    const unsigned sent = changes_sent(line.legacy, line.words, line.mgmt_class, false, outcome);
    INFO(fmt::format("{}", fmt::join(line.words, " ")) << (line.legacy ? " (legacy): " : ": ") << outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(sent > 0);
    const unsigned sent_to_other = changes_sent(line.legacy, line.words, line.mgmt_class, true, outcome);
    INFO(outcome.out << outcome.err);
    CHECK(sent_to_other == 0);
    const int failed = line.words.front() == "vendstat" ? 0 : 255;  // infiniband-diags' status
    CHECK(outcome.status == (line.legacy ? failed : 3));
    CHECK_THAT(outcome.err, contains("leads to the node 0000:0000:0000:0999 now, and 0000:0000:0000:0300 was meant: nothing was set"));
  }
}

TEST_CASE_METHOD(Site, "query PerformanceSet reads the port that it sets") {
  const FakeSa sa(fabric);
  pmas[2]->count(3, "symbol_error_counter") = 7;
  pmas[2]->count(1, "symbol_error_counter") = 5;
  CHECK(ibtool(fabric, {"query", "PerformanceSet", "PMPortCounters", "3", "-f", "portSelect=3", "-f", "counterSelect=0"}).status == 0);
  std::vector<unsigned> ports;
  for (const FakePma::Asked& one : pmas[2]->asked) ports.push_back(one.port);
  CHECK(ports == std::vector<unsigned>{3, 3});
}

TEST_CASE_METHOD(Site, "ibqueryerrors resets what it has read, and nothing else") {
  FakePma& pma = *pmas[2];
  for (const unsigned port : {1U, 2U, 3U}) pma.count(port, "symbol_error_counter") = 7;
  pma.capability_mask &= static_cast<std::uint16_t>(~ib::pm::capability_mask::all_port_select);
  SECTION("all are read") {}
  SECTION("port 2 does not answer") {
    fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
      const bool is_it =
          request[1] == ib::mad::mgmt_class::performance && ib::load_be<std::uint16_t>(&request[16]) != 1 && request[65] == 2;
      return answer && !is_it ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
  }
  const bool loses = static_cast<bool>(fabric.network.tamper);
  const Outcome outcome = ibtool(fabric, {"ibqueryerrors", "-k", "leaf10", "--skip-sl"});
  CAPTURE(outcome.err, outcome.out);
  std::vector<unsigned> set;
  for (const FakePma::Asked& one : pma.asked) {
    if (one.method == ib::mad::method::set) set.push_back(one.port);
  }
  CHECK(std::ranges::find(set, 1U) != set.end());
  CHECK(std::ranges::find(set, 3U) != set.end());
  CHECK((std::ranges::find(set, 2U) != set.end()) == !loses);
  CHECK((outcome.err.find("The counters of 1 port were not reset") != std::string::npos) == loses);
}

TEST_CASE_METHOD(Site, "one Set for all ports is sent where all ports were read; else those that answered are reset") {
  FakePma& pma = *pmas[2];
  pma.count(3, "symbol_error_counter") = 7;
  fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
    const bool is_it = request[1] == ib::mad::mgmt_class::performance && ib::load_be<std::uint16_t>(&request[16]) != 1 && request[65] == 2;
    return answer && !is_it ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  const auto sets_of = [&] {
    std::vector<unsigned> set;
    for (const FakePma::Asked& one : pma.asked) {
      if (one.method == ib::mad::method::set) set.push_back(one.port);
    }
    pma.asked.clear();
    return set;
  };
  for (const bool legacy : {false, true}) {
    INFO(legacy);
    const Outcome outcome =
        legacy ? diags(fabric, {"ibqueryerrors", "-k", "--skip-sl"}) : ibtool(fabric, {"ibqueryerrors", "-k", "--yes", "--skip-sl"});
    const std::vector<unsigned> set = sets_of();
    CHECK(std::ranges::find(set, 255U) == set.end());
    CHECK(std::ranges::find(set, 2U) == set.end());
    CHECK(std::ranges::find(set, 3U) != set.end());
    if (legacy) CHECK_THAT(outcome.err, contains("Failed to reset errors") && contains("port 2"));
    pma.count(3, "symbol_error_counter") += 7;
  }
  fabric.network.tamper = nullptr;
  CHECK(ibtool(fabric, {"ibqueryerrors", "-k", "--yes", "--skip-sl"}).status == 1);
  CHECK(sets_of() == std::vector<unsigned>{255, 255});
}

TEST_CASE_METHOD(Site, "one Set for all ports is for all that the switch has: a port whose PortInfo was lost is not reset unseen") {
  FakePma& pma = *pmas[2];
  pma.count(1, "symbol_error_counter") = 7;
  pma.count(4, "symbol_error_counter") = 40;  // nothing is linked there, and nobody answers for it
  fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
    const ib::mad::HeaderView header(request);
    const bool is_lost = ib::mad::is_smp(header.mgmt_class()) && header.attribute_id() == ib::smp::PortInfo::attribute_id &&
                         header.attribute_modifier() == 4;
    return answer && !is_lost ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  for (const bool legacy : {false, true}) {
    INFO(legacy);
    pma.asked.clear();
    const Outcome outcome =
        legacy ? diags(fabric, {"ibqueryerrors", "-k", "--skip-sl"}) : ibtool(fabric, {"ibqueryerrors", "-k", "--yes", "--skip-sl"});
    CAPTURE(outcome.out, outcome.err);
    std::vector<unsigned> set;
    for (const FakePma::Asked& one : pma.asked) {
      if (one.method == ib::mad::method::set) set.push_back(one.port);
    }
    CHECK(std::ranges::find(set, 1U) != set.end());
    CHECK(std::ranges::find(set, 4U) == set.end());
    CHECK(std::ranges::find(set, 255U) == set.end());
    CHECK(pma.count(4, "symbol_error_counter") == 40);
    if (!legacy) CHECK_THAT(outcome.err, contains("not reset, since they could not be read") && contains("0300 ports 1, 2, 3"));
    pma.count(1, "symbol_error_counter") = 7;
  }
}

TEST_CASE_METHOD(Site, "ibqueryerrors resets counters of the whole fabric only with --yes, and -K says what it is") {
  for (const char* option : {"-k", "-K"}) {
    const Outcome refused = ibtool(fabric, {"ibqueryerrors", option});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains("--yes") && contains("TARGET"));
    CHECK(pma_sets() == 0);
    const Outcome dry = ibtool(fabric, {"ibqueryerrors", option, "--dry-run"});
    CHECK(dry.status == 0);
    CHECK(pma_sets() == 0);
    CHECK(ibtool(fabric, {"ibqueryerrors", option, "leaf10"}).status == 0);
    CHECK(pma_sets() > 0);
    for (FakePma* pma : pmas) pma->asked.clear();
    const Outcome all = ibtool(fabric, {"ibqueryerrors", option, "--yes"});
    CHECK(all.status == 0);
    CHECK(pma_sets() >= pmas.size());
    CHECK((all.err.find("in other commands it shows keys") != std::string::npos) == (option[1] == 'K'));
    for (FakePma* pma : pmas) pma->asked.clear();
  }
  CHECK_THAT(ibtool(fabric, {"ibqueryerrors", "-k", "--yes"}).err, !contains("shows keys"));
  CHECK_THAT(diags(fabric, {"ibqueryerrors", "-K"}).err, !contains("shows keys"));
}

TEST_CASE_METHOD(Site, "ibqueryerrors -K reads the 64-bit counters that it resets") {
  FakePma& pma = *pmas[2];
  pma.capability_mask2 = 0;
  CHECK(ibtool(fabric, {"ibqueryerrors", "-K", "leaf10", "--skip-sl"}).status <= 1);
  bool was_read = false, was_set = false;
  for (const FakePma::Asked& one : pma.asked) {
    if (one.attribute != ib::pm::PortCountersExt::attribute_id) continue;
    if (one.method == ib::mad::method::get) was_read = true;
    if (one.method == ib::mad::method::set) {
      was_set = true;
      CHECK(was_read);
    }
  }
  CHECK(was_set);
}

TEST_CASE_METHOD(Site, "ibclearcounters clears the whole fabric only with --yes, else what TARGET names") {
  const Outcome refused = ibtool(fabric, {"ibclearcounters"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains("--yes") && contains("TARGET"));
  CHECK(pma_sets() == 0);
  CHECK(ibtool(fabric, {"ibclearerrors", "leaf10"}).status == 0);
  CHECK(pmas[2]->times(ib::pm::PortCounters::attribute_id) > 0);
  CHECK(pmas[0]->asked.empty());
  CHECK(pmas[4]->asked.empty());
  CHECK(ibtool(fabric, {"ibclearcounters", "5"}).status == 0);
  CHECK(!pmas[4]->asked.empty());
  CHECK(ibtool(fabric, {"ibclearcounters", "--yes"}).status == 0);
  CHECK(!pmas[0]->asked.empty());
}

}  // namespace tools_sets_tests
