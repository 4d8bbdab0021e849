// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a GUID or a name says stays what is set: LIDs change hands at each moment of a run, and a GUID may be an alias.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "unit/tools/set_site.hpp"

namespace tools_sets_tests {

namespace {

struct GuidLine {
  Words words;
  bool legacy;
};

/// A command line of each command that takes -G and changes something. The GUID is that of leaf10, but for set_guid.
std::vector<GuidLine> guid_lines() {
  const Words port_setting{"ibccconfig", "-G", "SP", "0x300", "3", "1", "1", "2", "3", "4"};
  std::vector<GuidLine> lines;
  for (const bool legacy : {false, true}) {
    for (const Words& words : std::vector<Words>{{"ibportstate", "-G", "0x300", "3", "speed", "1"},
                                                 {"ibportstate", "-G", "0x300", "3", "disable"},
                                                 {"perfquery", "-R", "-G", "0x300", "3"},
                                                 {"perfquery", "-r", "-G", "0x300", "3"},
                                                 {"perfquery", "-R", "-a", "-G", "0x300"},
                                                 {"vendstat", "-W", "10,1", "-G", "0x300"},
                                                 {"vendstat", "-c", "1,2", "-G", "0x300", "1"},
                                                 {"sminfo", "-G", "0x300", "1"},
                                                 port_setting})
      lines.push_back({words, legacy});
  }
  lines.push_back({{"ibqueryerrors", "-k", "-G", "0x300"}, true});
  for (const Words& words : std::vector<Words>{{"ibqueryerrors", "-k", "-G", "0x300"},
                                               {"ibclearerrors", "-G", "0x300"},
                                               {"ibclearcounters", "leaf10"},
                                               {"ibportstate", "leaf10", "3", "speed", "1"},
                                               {"perfquery", "-R", "leaf10", "3"},
                                               {"set_port_state", "--disable", "0000:0000:0000:0300@3"},
                                               {"query", "SubnSet", "SMPPortInfo", "-G", "0x300", "-a", "3", "-f", "mKeyLeasePeriod=3"},
                                               {"query", "PerformanceSet", "PMPortCounters", "-G", "0x300", "-f", "portSelect=3"},
                                               {"set_guid", "-G", "0x300", "1", "0x77"}})
    lines.push_back({words, false});
  return lines;
}

/// Runs of one command line in a Site. leaf1 and leaf10 exchange their LIDs after a request of a run.
struct Handover {
  explicit Handover(const GuidLine& of) : line(of) {}

  struct Request {
    bool sets, identifies;
  };
  std::vector<Request> requests;   ///< of the last run
  bool loses_first_set = false;    ///< its answer is lost, and the LIDs are exchanged
  std::size_t sets_of_others = 0;  ///< Sets that did not come to leaf10, or are not for its LID
  Outcome outcome;

  /// `after`: the number of the request; nothing: the LIDs stay.
  void run(std::optional<std::size_t> after) {
    Site site;
    const FakeSa sa(site.fabric);
    site.run_all_agents();
    site.pmas[2]->count(3, "symbol_error_counter") = 7;
    FakeFabric::Node& leaf10 = site.fabric.node(site.leaf10);
    if (line.words[0] == "ibportstate") leaf10.info.device_id = 1;  // without MlnxExtPortInfo
    requests.clear();
    sets_of_others = 0;
    std::size_t received = 0;  // by leaf10
    site.fabric.network.tamper = [&](ib::Bytes mad, std::optional<FakeFabric::Answer> answer) {
      const ib::mad::HeaderView header(mad);
      const bool sets = header.method() == ib::mad::method::set;
      const bool is_smp = ib::mad::is_smp(header.mgmt_class()), is_for_sa = header.mgmt_class() == ib::mad::mgmt_class::sa;
      std::size_t now = site.fabric.requests_to(site.leaf10);
      for (const auto& [mgmt_class, service] : leaf10.services) now += service.requests;
      const bool is_its = is_for_sa ? ib::load_be<std::uint16_t>(&mad[56]) == leaf10.ports[0].info.lid.value : now > received;
      received = now;
      if (sets && !is_its) ++sets_of_others;
      requests.push_back({sets, is_smp && header.attribute_id() == ib::smp::NodeInfo::attribute_id});
      if (after && requests.size() == *after + 1) exchange_lids(site);
      if (sets && loses_first_set && std::ranges::count_if(requests, &Request::sets) == 1) {
        exchange_lids(site);
        return std::vector<FakeFabric::Answer>{};
      }
      if (sets && is_for_sa) return std::vector<FakeFabric::Answer>{ibtest::answer_to(mad)};  // the SA accepts what it gets
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
    outcome = line.legacy ? diags(site.fabric, line.words) : ibtool(site.fabric, line.words);
  }

 private:
  static void exchange_lids(Site& site) {
    for (const auto id : {site.leaf1, site.leaf10}) {
      for (auto& port : site.fabric.node(id).ports) port.info.lid = ib::Lid{static_cast<std::uint16_t>(port.info.lid.value == 2 ? 3 : 2)};
    }
    for (const auto id : {site.spine, site.leaf1, site.leaf10}) std::swap(site.fabric.node(id).lft[2], site.fabric.node(id).lft[3]);
  }

  const GuidLine& line;
};

}  // namespace

TEST_CASE("a GUID or a name says what is set, whenever its LID changes hands: its identity is the last request before each Set") {
  for (const GuidLine& line : guid_lines()) {
    Handover handover(line);
    handover.run(std::nullopt);
    INFO(fmt::format("{}", fmt::join(line.words, " "))
         << (line.legacy ? " (legacy): " : ": ") << handover.outcome.out << handover.outcome.err);
    const std::vector<Handover::Request> usual = handover.requests;
    CHECK(handover.sets_of_others == 0);
    REQUIRE(std::ranges::any_of(usual, &Handover::Request::sets));
    for (std::size_t at = 0; at < usual.size(); ++at) {
      if (!usual[at].sets) continue;
      REQUIRE(at > 0);
      CHECK(usual[at - 1].identifies);
    }
    for (std::size_t after = 0; after + 1 < usual.size(); ++after) {
      if (usual[after + 1].sets) continue;  // nothing can be known of what happens between the check and the Set
      handover.run(after);
      INFO("after request " << after << ": " << handover.outcome.out << handover.outcome.err);
      CHECK(handover.sets_of_others == 0);
    }
  }
}

TEST_CASE("a Set that is lost while its LID changes hands is not repeated at another node") {
  for (const GuidLine& line : guid_lines()) {
    Handover handover(line);
    handover.loses_first_set = true;
    handover.run(std::nullopt);
    INFO(fmt::format("{}", fmt::join(line.words, " "))
         << (line.legacy ? " (legacy): " : ": ") << handover.outcome.out << handover.outcome.err);
    CHECK(handover.sets_of_others == 0);
    CHECK(std::ranges::any_of(handover.requests, &Handover::Request::sets));
  }
}

TEST_CASE_METHOD(Site, "a Set that is lost is repeated as often as any request, each time after a new look at the node") {
  const FakeSa sa(fabric);
  std::vector<bool> sets;  // by request: whether it is a Set
  unsigned lost = 2;
  fabric.network.tamper = [&](ib::Bytes mad, std::optional<FakeFabric::Answer> answer) {
    sets.push_back(ib::mad::HeaderView(mad).method() == ib::mad::method::set);
    const bool is_lost = sets.back() && lost != 0;
    if (is_lost) --lost;
    return answer && !is_lost ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  const Words words{"perfquery", "-R", "-G", "0x300", "3"};
  const Outcome done = ibtool(fabric, words);
  INFO(done.out << done.err);
  CHECK(done.status == 0);
  CHECK(std::ranges::count(sets, true) >= 3);
  for (std::size_t at = 1; at < sets.size(); ++at) CHECK_FALSE((sets[at] && sets[at - 1]));
  lost = 100;
  sets.clear();
  const Outcome failed = ibtool(fabric, words);
  INFO(failed.out << failed.err);
  CHECK(failed.status == 3);
  CHECK_THAT(failed.err, contains("3 tries") || contains("4 tries"));
}

TEST_CASE_METHOD(Site, "an alias GUID is what is meant, too: a port that has it is set, and no other") {
  constexpr std::uint64_t alias = 0xa11a5;
  FakeSa sa(fabric);
  sa.lie = [&](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != ib::sa::PathRecord::attribute_id) return;
    ib::sa::PathRecord path;
    path.dgid = ib::Gid::from(ib::link_local_prefix, ib::Guid{alias});
    path.sgid = fabric.end_port().default_gid();
    path.dlid = fabric.node(other).ports[1].info.lid;
    path.slid = fabric.end_port().lid;
    path.reversible = 1;
    path.p_key = 0xffff;
    records.emplace_back(ib::sa::PathRecord::info().bytes);
    path.pack(records.back());
  };
  bool has_alias = true;
  fabric.node(other).faults.lie = [&](FakeFabric::Answer& answer) {
    constexpr std::size_t guid1 = 64 + 8;
    const ib::mad::HeaderView header(answer);
    if (has_alias && ib::mad::is_smp(header.mgmt_class()) && header.attribute_id() == ib::smp::GuidInfo::attribute_id)
      ib::store_be(&answer[guid1], alias);
  };
  std::vector<std::uint16_t> attributes;  // of SMPs
  fabric.network.tamper = [&](ib::Bytes mad, std::optional<FakeFabric::Answer> answer) {
    const ib::mad::HeaderView header(mad);
    if (ib::mad::is_smp(header.mgmt_class())) attributes.push_back(header.attribute_id());
    return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  for (const bool legacy : {false, true}) {
    for (const Words& words :
         std::vector<Words>{{"ibportstate", "-G", "0xa11a5", "1", "speed", "1"}, {"perfquery", "-R", "-G", "0xa11a5", "1"}}) {
      fabric.node(other).info.device_id = 1;
      const auto run = [&] { return legacy ? diags(fabric, words) : ibtool(fabric, words); };
      INFO(words[0] << legacy);
      has_alias = true;
      attributes.clear();
      const std::size_t before = fabric.sets.size() + pma_sets();
      const Outcome done = run();
      INFO(done.out << done.err);
      CHECK(done.status == 0);
      CHECK(fabric.sets.size() + pma_sets() > before);
      CHECK(std::ranges::count(attributes, ib::smp::GuidInfo::attribute_id) > 0);
      has_alias = false;  // it has moved to another host
      const std::size_t sets = fabric.sets.size() + pma_sets();
      const Outcome refused = run();
      INFO(refused.out << refused.err);
      CHECK(refused.status == (legacy ? 255 : 3));
      CHECK_THAT(refused.err, contains("0000:0000:000a:11a5 was meant: nothing was set"));
      CHECK(fabric.sets.size() + pma_sets() == sets);
    }
  }
}

}  // namespace tools_sets_tests
