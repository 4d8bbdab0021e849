// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --cache and IBTOOL_CACHE: when a stored fabric stands for the one that is there, and what is reported and kept.

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "snapshot/file/new_file.hpp"
#include "snapshot/snapshot.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_cache_tests {

using namespace ib;
using namespace ibtest;

namespace {

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Bench : SmallFabric {
  TemporaryDirectory directory;
  std::string file = directory.file("one");

  std::size_t requests() const {
    std::size_t sum = 0;
    for (FakeFabric::NodeId node = 0; node <= fabric.size(); ++node) sum += fabric.requests_to(node);
    return sum;
  }
  Outcome run(std::vector<std::string> words) {
    const std::size_t before = requests();
    Outcome outcome = ibtool(fabric, std::move(words));
    sent = requests() - before;
    return outcome;
  }
  Outcome cached(std::vector<std::string> words) {
    words.insert(words.end(), {"--cache", file});
    return run(std::move(words));
  }
  /// Whether a run that lists hosts takes them from the file.
  bool is_used(std::vector<std::string> words = {}) {
    words.insert(words.begin(), "ibhosts");
    const Outcome outcome = cached(std::move(words));
    CHECK(outcome.status == 0);
    CHECK(outcome.out == ibtool(fabric, {"ibhosts"}).out);
    CHECK(outcome.err.empty() == (sent != 0));
    return sent == 0;
  }
  void set_age(std::chrono::seconds age) const {
    const auto ended = std::chrono::system_clock::now() - age;
    set_fact(file, "ended", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(ended.time_since_epoch()).count()));
  }

  std::size_t sent{};
};

/// A topology without the time at which it was printed.
std::string undated(const std::string& text) { return std::regex_replace(text, std::regex("generated on .*"), "generated on"); }

}  // namespace

TEST_CASE_METHOD(Bench, "A fabric from a cache costs no request, and a warning says of which time it is") {
  const Outcome live = cached({"ibhosts"});
  CHECK(live.err.empty());
  CHECK(sent > 0);
  const Outcome stored = cached({"ibhosts"});
  CHECK(sent == 0);
  CHECK(stored.out == live.out);
  CHECK_THAT(stored.err, starts_with("W: fabric as of 20") && ends_with(", from " + file + "\n"));
  CHECK(std::ranges::count(stored.err, '\n') == 1);
}

TEST_CASE_METHOD(Bench, "A listing of a stored fabric has the time of the fabric, not the present time") {
  const auto date = [] {
    const std::time_t then = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - std::chrono::hours(2));
    std::tm local{};
    ::localtime_r(&then, &local);
    std::array<char, 64> text{};
    return std::string(text.data(), std::strftime(text.data(), text.size(), "generated on %a %b %d %H:%M:%S %Y", &local));
  };
  cached({"ibnetdiscover"});
  const std::string before = date();
  set_age(std::chrono::hours(2));
  const std::string after = date();
  for (const char* option : {"--from", "--load-cache", "--cache"}) {
    CAPTURE(option);
    CHECK_THAT(ibtool(fabric, {"ibnetdiscover", option, file}).out, contains(before) || contains(after));
  }
  const Outcome legacy = diags(fabric, {"ibnetdiscover", "--load-cache", file});
  INFO(legacy.out << legacy.err);
  std::string padded = before, padded_after = after;  // C's ctime() has a blank before a day of one digit
  for (std::string* text : {&padded, &padded_after})
    if ((*text)[21] == '0') (*text)[21] = ' ';
  CHECK_THAT(legacy.out, contains(padded) || contains(padded_after));
}

TEST_CASE_METHOD(Bench, "A cache is bound to the port through which it was read") {
  Gid other_guid = fabric.end_port().default_gid(), other_prefix = other_guid;
  other_guid.bytes[15] ^= 0xffU;
  other_prefix.bytes[1] ^= 0x40U;
  const auto [name, value] = GENERATE_COPY(table<std::string, std::string>({
      {"device node_guid", "0:0:0:999"},
      {"device port 1 gids", to_text(other_guid)},
      {"device port 1 gids", to_text(other_prefix)},
      {"device port 1 lid", "77"},
      {"device port 1 sm_lid", "77"},
      {"device port 1 phys_state", "2"},
  }));
  CAPTURE(name, value);
  cached({"ibhosts"});
  CHECK(is_used());
  set_fact(file, name, value);
  CHECK_FALSE(is_used());
  CHECK(is_used());  // it was written anew
}

TEST_CASE_METHOD(Bench, "Another fabric's cache is not used") {
  {
    TwoWayFabric two;
    REQUIRE(ibtool(two.fabric, {"ibhosts", "--cache", file}).status == 0);
  }
  CHECK_FALSE(is_used());
  CHECK(is_used());
}

TEST_CASE_METHOD(Bench, "A cache is used until it is a day old, or as old as --cache-age says") {
  using namespace std::chrono_literals;
  cached({"ibhosts"});
  set_age(23h);
  CHECK(is_used());
  CHECK_FALSE(is_used({"--cache-age", "22h"}));
  set_age(25h);
  CHECK(is_used({"--cache-age=2d"}));
  CHECK(is_used({"--cache-age=1501m"}));
  CHECK(is_used({"--cache-age=90060s"}));
  CHECK_FALSE(is_used());
  CHECK(is_used());
  set_age(-1h);  // of a clock that was wrong
  CHECK_FALSE(is_used());
  CHECK_FALSE(is_used({"--cache-age", "0s"}));
}

TEST_CASE_METHOD(Bench, "--cache-age wants a time, and a cache") {
  for (const char* word : {"", "1", "d", "1.5h", "-1d", "1w", "1 d", "99999999999999999999d", "36501d"}) {
    const Outcome outcome = cached({"ibhosts", "--cache-age", word});
    CAPTURE(word);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, contains("is no time such as 30m, 12h or 7d"));
  }
  CHECK_THAT(run({"ibhosts", "--cache-age", "1d"}).err, contains("--cache-age goes with --cache or IBTOOL_CACHE"));
}

TEST_CASE_METHOD(Bench, "Options of a cache are refused beside a file that the fabric comes from") {
  const std::string snapshot = directory.file("snapshot"), stored = directory.file("stored");
  run({"snapshot", snapshot});
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", stored}).status == 0);
  for (const auto& [option, from] : std::vector<std::pair<std::string, std::string>>{{"--from", snapshot}, {"--load-cache", stored}}) {
    REQUIRE(run({"ibhosts", option, from}).status == 0);
    for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"--refresh-cache"}, {"--cache-age", "1d"}}) {
      for (const char* command : {"ibhosts", "iblinkinfo", "check_routes", "ibqueryerrors"}) {
        std::vector<std::string> words{command, option, from};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome refused = run(words);
        CAPTURE(words, refused.err);
        CHECK(refused.status == 2);
        CHECK(refused.err == "E: " + more[0] + " and " + option + " exclude each other\n");
      }
    }
  }
}

TEST_CASE_METHOD(Bench, "A sweep that did not get everywhere is not taken from a cache") {
  SECTION("The host had no link") {
    fabric.set_link(here, 1, false);
    cached({"ibhosts"});
    fabric.set_link(here, 1, true);
  }
  SECTION("A node did not answer that answers now") {
    fabric.node(other).faults.silent = true;
    CHECK(cached({"ibhosts"}).status == 4);
    fabric.node(other).faults.silent = false;
  }
  SECTION("A node that answers now did not answer an attribute before") {
    fabric.node(other).faults.ignores = smp::NodeDescription::attribute_id;
    CHECK(cached({"ibhosts"}).status == 4);
    fabric.node(other).faults.ignores = 0;
  }
  SECTION("It is damaged") {
    cached({"ibhosts"});
    run_sql(file, "DELETE FROM raw_node WHERE node=1");
    const Outcome outcome = cached({"ibhosts"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out == ibtool(fabric, {"ibhosts"}).out);
    CHECK_THAT(outcome.err, starts_with("W: '" + file + "' is a damaged snapshot") && ends_with("the fabric is read again\n"));
    CHECK(is_used());
    return;
  }
  CHECK_FALSE(is_used());
  CHECK(is_used());
}

TEST_CASE_METHOD(Bench, "A silent node gets one more request, and the cache is used as long as it stays silent") {
  auto& faults = fabric.node(other).faults;
  faults.silent = GENERATE(true, false);
  if (!faults.silent) faults.ignores = smp::NodeDescription::attribute_id;
  const std::vector<std::string> words = GENERATE(as<std::vector<std::string>>(), std::vector<std::string>{"ibhosts"},
                                                  std::vector<std::string>{"iblinkinfo"}, std::vector<std::string>{"ibnetdiscover"});
  const Outcome live = cached(words);
  CHECK(live.status == 4);
  CHECK_THAT(live.err, starts_with("E: "));
  for (int run = 0; run < 2; ++run) {
    const Outcome stored = cached(words);
    CHECK(sent == 1);
    CHECK(stored.status == 4);
    CHECK(undated(stored.out) == undated(live.out));
    CHECK_THAT(stored.err, starts_with("W: fabric as of") && ends_with(live.err));
  }
}

TEST_CASE_METHOD(Bench, "A damaged answer does not make a command fail") {
  cached({"dump_lfts"});
  // A payload of several pages of SQLite, and pointers from page to page that lead out of the file.
  constexpr std::size_t page = 4096;
  run_sql(file, fmt::format("UPDATE raw_answer SET payload=CAST(printf('%.{}c','Z') AS BLOB) WHERE attribute={}", 4 * page,
                            unsigned{smp::LinearForwardingTable::attribute_id}));
  std::string bytes = content(file);
  std::size_t damaged = 0;
  for (std::size_t at = 0; at < bytes.size(); at += page) {
    if (bytes.compare(at + 4, page - 4, std::string(page - 4, 'Z')) != 0) continue;
    bytes.replace(at, 4, 4, '\x7f');
    ++damaged;
  }
  REQUIRE(damaged > 0);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  const Outcome outcome = cached({"dump_lfts"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == ibtool(fabric, {"dump_lfts"}).out);
  CHECK_THAT(outcome.err, contains("it is damaged, or no snapshot; ") && contains("is read again\n"));
}

TEST_CASE("After LIDs have moved to other nodes the fabric is read again") {
  TwoWayFabric two;
  const TemporaryDirectory directory;
  const std::string file = directory.file("one");
  const auto cached = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--cache", file});
    return ibtool(two.fabric, std::move(words));
  };
  const std::vector<std::string> words =
      GENERATE(as<std::vector<std::string>>(), std::vector<std::string>{"dump_lfts"}, std::vector<std::string>{"dump_lfts", "--json"},
               std::vector<std::string>{"dump_lfts", "--json=lines"}, std::vector<std::string>{"iblinkinfo", "2"},
               std::vector<std::string>{"ibroute", "2"}, std::vector<std::string>{"ibtracert", "3", "4"});
  REQUIRE(cached(words).status == 0);
  REQUIRE(cached(words).err.find("W: fabric as of") == 0);
  // The switches exchange their LIDs.
  for (auto& port : two.fabric.node(two.near).ports) port.info.lid = Lid{2};
  for (auto& port : two.fabric.node(two.far).ports) port.info.lid = Lid{1};
  for (const auto node : {two.near, two.far}) std::swap(two.fabric.node(node).lft[1], two.fabric.node(node).lft[2]);
  const Outcome live = ibtool(two.fabric, words), stored = cached(words);
  CAPTURE(words, stored.err);
  CHECK(stored.status == live.status);
  CHECK(stored.out == live.out);
  CHECK_THAT(stored.err, contains("the fabric has changed; it is read again\n"));
  const Outcome again = cached(words);
  CHECK(again.out == live.out);
  CHECK_THAT(again.err, starts_with("W: fabric as of") && !contains("changed"));
}

TEST_CASE("Counters are not shown for the node that had their LID before") {
  CountingFabric f(1);
  const TemporaryDirectory directory;
  f.pma.count(2, "symbol_error_counter") = 7;
  f.other_pma.count(1, "port_rcv_errors") = 9;
  const std::vector<std::string> words =
      GENERATE(as<std::vector<std::string>>(), std::vector<std::string>{"ibqueryerrors"}, std::vector<std::string>{"ibdatacounters"});
  std::vector<std::string> cached = words;
  cached.insert(cached.end(), {"--cache", directory.file("one")});
  REQUIRE(ibtool(f.fabric, cached).out == ibtool(f.fabric, words).out);
  // The switch and the host exchange their LIDs.
  for (auto& port : f.fabric.node(f.leaf).ports) port.info.lid = Lid{3};
  f.fabric.node(f.other).ports[1].info.lid = Lid{1};
  std::swap(f.fabric.node(f.leaf).lft[1], f.fabric.node(f.leaf).lft[3]);
  const Outcome live = ibtool(f.fabric, words), stored = ibtool(f.fabric, cached);
  CAPTURE(words, stored.err);
  CHECK(stored.out == live.out);
  CHECK(stored.status == live.status);
  CHECK_THAT(stored.err, contains("the fabric has changed; it is read again\n"));
}

TEST_CASE_METHOD(Bench, "Before the file answers for a LID, the node there gets one request") {
  cached({"dump_lfts"});
  CHECK_THAT(cached({"dump_lfts"}).err, starts_with("W: fabric as of"));
  CHECK(sent == 1);
  cached({"iblinkinfo", "1"});
  CHECK(sent == 1);
}

TEST_CASE_METHOD(Bench, "Nodes that were added after the cache was filled are found") {
  cached({"ibhosts"});
  const auto guest = fabric.add_ca(0x400, 1, "guest");
  fabric.link(leaf, 3, guest, 1);
  fabric.assign_lids();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"iblinkinfo", "4"}, std::vector<std::string>{"ibtracert", "2", "4"}}) {
    const std::string before = content(file);
    const Outcome live = run(words), stored = cached(words);
    CAPTURE(words, stored.err);
    CHECK(stored.status == live.status);
    CHECK(undated(stored.out) == undated(live.out));
    std::ofstream(file, std::ios::binary) << before;
  }
}

TEST_CASE_METHOD(Bench, "A target of the wrong kind has the LID that it has without a cache") {
  const Outcome live = run({"iblinkinfo", "3"});
  CHECK_THAT(live.err, contains("(LID 3) is a channel adapter"));
  cached({"ibhosts"});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"iblinkinfo", "3"}, std::vector<std::string>{"iblinkinfo", "3", "--refresh-cache"}}) {
    const Outcome stored = cached(words);
    CHECK(stored.status == live.status);
    CHECK_THAT(stored.err, ends_with(live.err));
  }
}

TEST_CASE_METHOD(Bench, "A lost MAD is sent again, a refused one is not") {
  const std::string live = run({"dump_lfts"}).out;
  auto& faults = fabric.node(leaf).faults;
  SECTION("Lost") {
    faults.ignores = smp::LinearForwardingTable::attribute_id;
    CHECK(cached({"dump_lfts"}).status == 4);
    faults.ignores = 0;
    const Outcome again = cached({"dump_lfts"});
    CHECK(again.status == 0);
    CHECK(again.out == live);
  }
  SECTION("Refused") {
    faults.status = 12;
    faults.status_attribute = smp::LinearForwardingTable::attribute_id;
    CHECK(cached({"dump_lfts"}).status == 4);
    CHECK(cached({"dump_lfts"}).status == 4);
    CHECK(sent == 1);  // the NodeInfo
  }
}

TEST_CASE_METHOD(Bench, "A cache that can not be written costs a warning, not the command") {
  const std::string live = run({"dump_lfts"}).out;
  const auto costs_a_warning = [&](const std::string& why) {
    const Outcome outcome = cached({"dump_lfts"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out == live);
    CHECK_THAT(outcome.err, starts_with("W: ") && contains(why));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK(sent > 0);
  };
  SECTION("No directory") {
    file = directory.file("none/one");
    costs_a_warning("what is read is not kept");
  }
  SECTION("Another process") {
    const snapshot::NewFile of_another(file);
    costs_a_warning("is being written by another process; what is read is not kept");
  }
  SECTION("A symbolic link") {
    const std::string kept = directory.file("kept");
    REQUIRE(ibtool(fabric, {"ibhosts", "--cache", kept}).status == 0);
    const std::string before = content(kept);
    std::filesystem::create_symlink(kept, file);
    costs_a_warning("is a symbolic link: it is not used as a cache");
    CHECK(content(kept) == before);
  }
  SECTION("One that may not be read") {
    cached({"ibhosts"});
    if (::geteuid() != 0) return;
    std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
    REQUIRE(::seteuid(12345) == 0);
    const Outcome outcome = cached({"dump_lfts"});
    REQUIRE(::seteuid(0) == 0);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == live);
    CHECK_THAT(outcome.err, starts_with("W: ") && contains(": it is not used as a cache\n"));
  }
  SECTION("Another user's") {
    cached({"ibhosts"});
    if (::geteuid() != 0) return;
    REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
    costs_a_warning("belongs to another user: it is not used as a cache");
  }
}

TEST_CASE_METHOD(Bench, "Keys that a cache lacks are requested") {
  constexpr std::uint64_t m_key = 0x1122334455667788;
  fabric.node(other).ports[1].info.m_key = m_key;
  cached({"ibhosts"});
  CHECK(is_used());
  CHECK_FALSE(is_used({"-K"}));
  CHECK(is_used({"-K"}));
  CHECK(snapshot::Snapshot(file).has_keys());
  CHECK(is_used());
}

TEST_CASE_METHOD(Bench, "FDR10 that a cache was filled without is requested, and not shown where it is not wanted") {
  constexpr std::uint16_t connect_x3 = 0x1003;
  for (const auto node : {leaf, other, here}) {
    fabric.node(node).info.vendor_id = 0x2c9;
    fabric.node(node).info.device_id = connect_x3;
    for (auto& port : fabric.node(node).ports) {
      port.info.link_speed_active = port.info.link_speed_enabled = port.info.link_speed_supported = 4;
    }
  }
  smp::MlnxExtPortInfo mlnx;
  mlnx.link_speed_supported = mlnx.link_speed_active = 1;
  unsigned requests = 0;
  fabric.network.tamper = [&](Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
    if (!answer) return {};
    if (load_be<std::uint16_t>(&request[16]) == smp::MlnxExtPortInfo::attribute_id) {
      ++requests;
      (*answer)[4] &= 0x80;  // the D bit of a directed route
      (*answer)[5] = 0;
      mlnx.pack(MutableBytes(*answer).subspan(64, 64));
    }
    return {*answer};
  };
  const std::string plain = run({"iblinkinfo"}).out, with_fdr10 = run({"iblinkinfo", "--fdr10"}).out;
  REQUIRE(plain != with_fdr10);
  CHECK(cached({"iblinkinfo"}).out == plain);
  requests = 0;
  CHECK(cached({"iblinkinfo", "--fdr10"}).out == with_fdr10);
  CHECK(requests > 0);
  CHECK(cached({"iblinkinfo", "--fdr10"}).out == with_fdr10);
  CHECK(sent == 0);
  CHECK(cached({"iblinkinfo"}).out == plain);
  CHECK(sent == 0);
}

TEST_CASE_METHOD(Bench, "Only commands with --cache look at IBTOOL_CACHE") {
  Outside outside;
  outside.cache = file;
  REQUIRE(ibtool(fabric, {"ibhosts"}, outside).status == 0);
  CHECK_THAT(ibtool(fabric, {"ibhosts"}, outside).err, starts_with("W: fabric as of"));
  const auto guest = fabric.add_ca(0x400, 1, "guest");
  fabric.link(leaf, 3, guest, 1);
  fabric.assign_lids();
  const std::string taken = directory.file("taken"), before = content(file);
  const Outcome snapshot = ibtool(fabric, {"snapshot", taken, "--only", "topology"}, outside);
  CHECK(snapshot.err.empty());
  CHECK_THAT(snapshot.out, starts_with("4 nodes"));
  CHECK(content(file) == before);
}

}  // namespace tools_cache_tests
