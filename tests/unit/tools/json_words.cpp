// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every command's JSON, held against the dictionary: one document, the same as lines, and what is printed where a command fails.
#include "tools/frame/json_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <set>

#include "base/bytes.hpp"
#include "iba-gen/hdr.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/sa.hpp"
#include "mad/sysstat.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/json_check.hpp"
#include "support/program.hpp"
#include "support/sa_answer.hpp"
#include "support/snapshot_file.hpp"
#include "support/stored_fabric.hpp"
#include "support/stored_routes.hpp"
#include "tools/frame/commands.hpp"

using namespace ib;
using ibtest::Complaints;
using ibtest::FakeFabric;
using nlohmann::json;

namespace {

enum class Rule { words, frame, lines, errors };

struct NotYet {
  std::string_view command;  ///< "*" for all of them
  Rule rule;
};
/// What does not conform yet. A row that is no longer needed fails the test.
constexpr std::array<NotYet, 0> not_yet{};

/// Commands without a case below: help prints text, and a bandwidth test needs a device (tests/kernel/test_rdma_bw.py).
constexpr std::string_view without_case[] = {"help", "rdma_bw"};

template <class T>
std::string packed_hex(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The words of a MAD of class `mgmt_class` that asks for NodeInfo.
std::string mad_hex(std::uint8_t mgmt_class = mad::mgmt_class::smp) {
  mad::Header header;
  header.base_version = header.class_version = 1;
  header.mgmt_class = mgmt_class;
  header.method = mad::method::get;
  header.attribute_id = smp::NodeInfo::attribute_id;
  return packed_hex(header) + std::string(2 * (256 - mad::Header::wire_size), '0');
}

std::string packet_hex() {
  hdr::Lrh lrh;
  lrh.lnh = 2;
  hdr::Bth bth;
  bth.service = 3;
  bth.function = 4;
  return packed_hex(lrh) + packed_hex(bth) + packed_hex(hdr::Deth()) + mad_hex();
}

/// Two switches (LIDs 1 and 2) that are linked, the host of the test (3) and another (4) with two ports, of which one has no link. There
/// is an SA, which can be set; the other host answers pings and the first switch vendor MADs. The site has a name for it, and its port 4
/// leads to a node that is silent.
class Site {
 public:
  Site() : near_(fabric.add_switch(0x100, 6, "near")), far_(fabric.add_switch(0x200, 4, "far")), sa_(fabric) {
    const auto here = fabric.add_ca(0x300, 1, "here");
    other_ = fabric.add_ca(0x400, 2, "other");
    const auto silent = fabric.add_ca(0x500, 1, "silent");
    fabric.link(near_, 1, here, 1);
    fabric.link(near_, 2, far_, 2);
    fabric.link(near_, 4, silent, 1);
    fabric.link(far_, 4, other_, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(silent).faults.silent = true;
    fabric.node(near_).ports.at(0).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
    fabric.node(near_).ports.at(2).info.m_key = 0x1234;
    fabric.node(other_).sm_info.emplace();
    fabric.node(other_).sm_info->sm_key = 0x1234;
    fabric.node(far_).mft[0xc001] = {1, 2};
    serve();
    run_pma(fabric, near_);
  }

  FakeFabric fabric;

 private:
  void serve() {
    fabric.network.gmp = [sa = fabric.network.gmp](Bytes request, const path::Path& path) -> std::optional<FakeFabric::Answer> {
      const auto attribute = load_be<std::uint16_t>(&request[16]);
      if (request[3] == mad::method::set) return ibtest::answer_to(request);
      const bool by_bit = load_be<std::uint32_t>(&request[20]) != 0;  // of the capability mask, which the FakeSa does not know
      if (attribute == sa::PortInfoRecord::attribute_id && by_bit) return ibtest::sa_table(request, {ibtest::padded(sa::PortInfoRecord())});
      return sa(request, path);
    };
    for (const std::uint8_t mgmt_class : {mad::mgmt_class::ofa_ping, mad::mgmt_class::ofa_sysstat}) {
      fabric.node(other_).services[mgmt_class].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
        FakeFabric::Answer mad = ibtest::answer_to(request);
        std::ranges::copy(std::string_view("other\ncpu 0"), mad.begin() + 40);
        return mad;
      };
    }
    fabric.node(near_).services[mad::mgmt_class::congestion].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
      return ibtest::answer_to(request);
    };
    fabric.node(near_).services[mlx::GeneralInfo::mgmt_class].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
      return ibtest::answer_to(request);
    };
  }

  FakeFabric::NodeId near_, far_, other_{};
  ibtest::FakeSa sa_;
};

/// The site in a file, as ibnetdiscover stores it.
const std::string& stored_site() {
  struct File {
    File() {
      const int fd = mkstemp(name.data());
      REQUIRE(fd >= 0);
      close(fd);
      Site site;
      REQUIRE(ibtest::diags(site.fabric, {"ibnetdiscover", "-l", "--cache", name}).status == 0);
    }
    ~File() {
      unlink(name.c_str());
      unlink((name + ".json").c_str());
    }
    std::string name = "/tmp/stored-site-XXXXXX";
  };
  static const File file;
  return file.name;
}

struct Case {
  std::vector<std::string> words;
  std::string input{};  ///< on stdin
  int status = 0;
};

std::vector<std::string> with_stored_routes(std::vector<std::string> words) {
  words.insert(words.end(), ibtest::stored_routes().begin(), ibtest::stored_routes().end());
  return words;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{"check_lft_balance", "-a"}, {}, 4},
      {{"check_routes", "--load"}, {}, 4},
      {with_stored_routes({"check_routes", "--load"}), {}, 1},
      {{"exporter", "--once"}, {}, 4},
      {{"completion", "bash"}},
      {{"completion", "--words", "smpquery", "N"}},
      {{"completion", "--words", "ibstat", "--js"}},
      {{"decode_mad"}, mad_hex()},
      {{"decode_mad", "--umad"}, std::string(128, '0') + mad_hex()},
      {{"decode_mad", "--lrh"}, packet_hex()},
      {{"decode_mad"}, mad_hex(0x1f), 2},  // a class that nobody knows: told, and an error
      {{"dump_fts"}, {}, 4},
      {{"dump_lfts"}, {}, 4},
      {{"dump_mfts"}, {}, 4},
      {{"ibaddr", "4"}},
      {{"ibchecknet", "--discovery=DR"}, {}, 1},
      {{"ibchecknode", "-v", "1"}},
      {{"ibcheckport", "1", "3"}, {}, 1},
      {{"ibcheckportstate", "-v", "1", "2"}},
      {{"ibcheckportwidth", "-v", "1", "2"}},
      {{"ibcheckstate", "-v"}, {}, 1},
      {{"ibcheckwidth", "-v"}, {}, 4},
      {{"ibcheckerrors"}, {}, 1},
      {{"ibcheckerrs", "1", "2"}},
      {{"ibcheckerrs", "-s"}},
      {{"ibclearcounters", "--yes"}, {}, 4},
      {{"ibclearerrors", "--yes"}, {}, 4},
      {{"ibdatacounters"}, {}, 4},
      {{"ibdatacounters", "--interval", "1", "--count", "2"}, {}, 4},
      {{"ibdatacounts", "1"}},
      {{"ibcacheedit", "--sysimgguid", "0x400:0x401", "--portguid", "0x400:0x401:0x409", stored_site(), stored_site() + ".json"}},
      {{"ibccconfig", "CS", "1", "0", "1", "1", "1", "1", "1"}},
      {{"ibccquery", "CK", "1"}},
      {{"ibccquery", "SP", "1"}},
      {{"ibccquery", "CT", "1"}},
      {{"ibfindnodesusing", "1", "2"}, {}, 4},
      {{"ibhosts"}, {}, 4},
      {{"ibidsverify", "-v"}, {}, 4},
      {{"iblinkinfo"}, {}, 4},
      {{"iblinkinfo", "--discovery=SA"}},
      {{"ibnetdiscover", "-m"}, {}, 4},
      {{"ibnetdiscover", "--diff", stored_site(), "--diffcheck", "sw,lid"}, {}, 4},
      {{"ibnetdiscover", "-p", "--load-cache", stored_site()}},
      {{"ibnodes"}, {}, 4},
      {{"ibping", "-c", "2", "4"}},
      {{"ibping", "-c", "2", "--protocol", "ibping", "4"}},
      {{"ibping", "-c", "2", "1", "--retries", "0"}, {}, 1},
      {{"ibportstate", "1", "1", "query"}},
      {{"ibportstate", "1", "4", "query"}, {}, 4},
      {{"ibportstate", "1", "0", "-n", "mkey", "5", "mkeylease", "7"}},
      {{"ibportstate", "1", "2", "-n", "enable"}},
      {{"ibportstate", "1", "2", "vls", "2"}},
      {{"ibprintca", "0x400"}, {}, 4},
      {{"ibprintrt", "-l"}, {}, 4},
      {{"ibprintswitch", "0x100"}, {}, 4},
      {{"ibqueryerrors", "--counters", "-r"}, {}, 4},
      {{"ibqueryerrors", "--counters", "--interval", "1", "--count", "2"}, {}, 4},
      {{"ibqueryerrors", "--details", "--data", "-s", "SymbolErrors", "1"}, {}, 4},
      {{"ibroute", "-M", "2"}},
      {{"ibroute", "2"}, {}, 4},
      {{"ibrouters"}, {}, 4},
      {{"ibstat"}},
      {{"ibstatus"}},
      {{"ibswitches"}, {}, 4},
      {{"ibswportwatch", "-n", "2", "1", "2"}},
      {{"ibsysstat", "4", "ping"}},
      {{"ibsysstat", "4", "host"}},
      {{"ibsysstat", "4", "cpu"}},
      {{"ibsysstat", "4", "cpi"}},
      {{"ibtracert", "4"}},
      {{"ibtracert", "-m", "0xc001", "4"}, {}, 1},
      {{"ibv_devices"}},
      {{"init_all_ports", "--yes"}, {}, 4},
      {{"init_all_ports", "-n"}, {}, 4},
      {{"perfquery", "1", "2"}},
      {{"perfquery", "-x", "-l", "1"}},
      {{"perfquery", "-a", "-R", "1"}},
      {{"perfquery", "--vl-xmit-wait", "--interval", "0.5", "--count", "2", "1", "2"}},
      {{"query", "SubnGet", "SMPPortInfo", "1", "-a", "2"}},
      {{"query", "SubnAdmGetTable", "SANodeRecord"}},
      {{"saquery"}},
      {{"saquery", "NR", "4", "nodeInfo.nodeType=1"}},
      {{"saquery", "-D"}},
      {{"saquery", "-s"}},
      {{"set_guid", "4", "1", "0x1234"}},
      {{"set_nodedesc", "-v"}},
      {{"set_port_state", "-n", "--disable", "1@2", "--discovery=DR"}, {}, 4},  // the sweep met a link without an answer
      {{"set_port_state", "--init", "1@2", "--discovery=DR"}, {}, 4},
      {{"sminfo", "4"}},
      {{"smpdump", "4", "0x11"}},
      {{"smpquery", "NI", "4"}},
      {{"smpquery", "ND", "0,1"}},
      {{"smpquery", "PI", "1", "2"}},
      {{"smpquery", "SI", "1"}},
      {{"smpquery", "PKeys", "4"}},
      {{"smpquery", "GI", "4"}},
      {{"smpquery", "LFT", "1"}},
      {{"smpquery", "MFT", "2"}},
      {{"snapshot", ibtest::snapshot_file()}, {}, 4},
      {{"subnet_diff", ibtest::stored_fabric()}, {}, 1},
      {{"vendstat", "-N", "1"}},
      {{"vendstat", "-R", "10", "1"}},
      {{"vendstat", "-R", "10", "-W", "10,1", "1"}},
      {{"vendstat", "-i", "1", "1"}},
  };
  return all;
}

/// What fails before there is a result, for each command and then by its own ways.
std::vector<Case> failing_cases() {
  std::vector<Case> all;
  for (const tools::CommandInfo* info : tools::commands()) {
    if (info->name != "help") all.push_back({{std::string(info->name), "--no-such-option"}, {}, 2});
  }
  all.push_back({{"nosuch"}, {}, 2});
  all.push_back({{"decode_mad"}, "zz", 2});
  all.push_back({{"ibaddr", "zzz"}, {}, 2});
  all.push_back({{"ibaddr", "77"}, {}, 3});
  all.push_back({{"ibcacheedit", "/nowhere/a", "/nowhere/b"}, {}, 2});
  all.push_back({{"ibccconfig", "CT", "1"}, {}, 2});
  all.push_back({{"ibccquery", "CL", "1"}, {}, 3});
  all.push_back({{"ibnetdiscover", "--diff", "/nowhere/a"}, {}, 2});
  all.push_back({{"ibfindnodesusing", "4", "1"}, {}, 3});
  all.push_back({{"ibportstate", "1", "1", "nosuch"}, {}, 2});
  all.push_back({{"ibprintca", "0x999"}, {}, 3});
  all.push_back({{"ibroute", "4"}, {}, 3});
  all.push_back({{"ibtracert", "77"}, {}, 3});
  all.push_back({{"perfquery", "1", "77"}, {}, 3});
  all.push_back({{"perfquery", "-r", "-R", "1"}, {}, 2});
  all.push_back({{"rdma_bw", "localhost"}, {}, 3});  // a host without a verbs device
  all.push_back({{"saquery", "NodeRecrod"}, {}, 2});
  all.push_back({{"set_port_state", "--disable", "1@99"}, {}, 2});
  all.push_back({{"smpdump", "4", "0x7777"}, {}, 3});
  all.push_back({{"smpquery", "SI", "4"}, {}, 3});
  all.push_back({{"snapshot", "/nowhere/a"}, {}, 3});
  return all;
}

std::string line_of(const Case& wanted, std::string_view form) { return fmt::format("{} {}", fmt::join(wanted.words, " "), form); }

/// Runs a case on a site of its own, as it may change it.
ibtest::Outcome run(const Case& wanted, const std::string& form) {
  Site site;
  std::vector<std::string> words = wanted.words;
  words.push_back(form);
  return ibtool(site.fabric, std::move(words), {.in = wanted.input});
}

/// Complaints by command; those that are expected are taken out, and expectations that are not met are complained of.
class Findings {
 public:
  explicit Findings(Rule rule) : rule_(rule) {}

  void add(const Case& wanted, std::string_view form, const Complaints& complaints) {
    const std::string& command = wanted.words[0];
    if (is_expected(command) || is_expected("*")) {
      if (!complaints.empty()) met_.insert(is_expected(command) ? command : "*");
      return;
    }
    for (const std::string& complaint : complaints) UNSCOPED_INFO(line_of(wanted, form) << ": " << complaint);
    CHECK(complaints.empty());
  }
  void finish() const {
    for (const NotYet& row : not_yet) {
      if (row.rule != rule_) continue;
      INFO(row.command << " conforms now: take it out of not_yet");
      CHECK(met_.contains(std::string(row.command)));
    }
  }

 private:
  bool is_expected(std::string_view command) const {
    return std::ranges::any_of(not_yet, [&](const NotYet& row) { return row.rule == rule_ && row.command == command; });
  }

  Rule rule_;
  std::set<std::string> met_;
};

Complaints checked(const std::function<Complaints()>& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

}  // namespace

TEST_CASE("the dictionary of JSON finds its words") {
  for (const tools::JsonWord& word : tools::json_words()) {
    CHECK(tools::find_json_word(word.key) == &word);
    CHECK(!word.key.ends_with("_text"));
  }
  CHECK(tools::find_json_word("nosuch") == nullptr);
  CHECK(type_name(*tools::find_json_word("guids")) == "list of GUIDs");
}

TEST_CASE("every command has a case here") {
  for (const tools::CommandInfo* info : tools::commands()) {
    INFO(info->name);
    const bool has_case = std::ranges::any_of(cases(), [&](const Case& one) { return one.words[0] == info->name; });
    CHECK(has_case != (std::ranges::find(without_case, info->name) != std::end(without_case)));
  }
}

TEST_CASE("every command's JSON has the words of the dictionary and nothing else") {
  Findings words(Rule::words), frame(Rule::frame);
  for (const Case& one : cases()) {
    const auto outcome = run(one, "--json");
    INFO(line_of(one, "--json") << '\n' << outcome.err);
    CHECK(outcome.status == one.status);
    words.add(one, "--json", checked([&] { return ibtest::word_complaints(json::parse(outcome.out)); }));
    frame.add(one, "--json", checked([&] { return ibtest::frame_complaints(json::parse(outcome.out), one.words[0], one.status); }));
  }
  words.finish();
  frame.finish();
}

TEST_CASE("the lines of every command are its document") {
  Findings lines(Rule::lines);
  for (const Case& one : cases()) {
    const auto document = run(one, "--json"), text = run(one, "--json=lines");
    CHECK(text.status == one.status);
    lines.add(one, "--json=lines", checked([&]() -> Complaints {
                json joined = ibtest::joined_lines(text.out), whole = json::parse(document.out);
                // Each run has its own transaction IDs.
                for (json* of : {&joined, &whole}) {
                  if (of->contains("mad") && (*of)["mad"].is_object()) (*of)["mad"].erase("transaction_id");
                }
                if (joined == whole) return {};
                return {json::diff(whole, joined).dump().substr(0, 200)};
              }));
  }
  lines.finish();
}

TEST_CASE("a command that fails prints one object, with the error and the status") {
  Findings errors(Rule::errors);
  for (const Case& one : failing_cases()) {
    for (const std::string form : {"--json", "--json=lines"}) {
      const auto outcome = run(one, form);
      INFO(line_of(one, form) << '\n' << outcome.err);
      CHECK(outcome.status == one.status);
      errors.add(one, form, checked([&] {
                   const json document = json::parse(outcome.out);  // throws where two objects are there
                   Complaints found = ibtest::frame_complaints(document, one.words[0], one.status);
                   const Complaints wrong = ibtest::word_complaints(document);
                   found.insert(found.end(), wrong.begin(), wrong.end());
                   return found;
                 }));
    }
  }
  errors.finish();
}
