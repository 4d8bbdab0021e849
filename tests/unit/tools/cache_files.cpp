// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which files --cache uses and replaces.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "tools/frame/common_options.hpp"

namespace tools_cache_files_tests {

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
  std::size_t sent{};

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
  void set_age(std::chrono::seconds age) const {
    const auto ended = std::chrono::system_clock::now() - age;
    set_fact(file, "ended", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(ended.time_since_epoch()).count()));
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "A file of ibtool snapshot is used as a cache, and never replaced by one") {
  run({"snapshot", file});
  if (GENERATE(false, true)) run_sql(file, "DELETE FROM raw_fact WHERE name='kind'");  // of an earlier version
  const std::string refusal =
      "W: '" + file + "' was made by ibtool snapshot, and a cache does not replace it; {}: only ibtool snapshot " + file + " does\n";
  std::string before = content(file);
  const auto stays = [&](const std::string& why, std::vector<std::string> words) {
    before = content(file);
    const Outcome live = run({"ibhosts"});
    const Outcome outcome = cached(std::move(words));
    CHECK(sent > 0);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == live.out);
    CHECK_THAT(outcome.err,
               starts_with(refusal.substr(0, refusal.find("{}"))) && contains(why) && ends_with(refusal.substr(refusal.find("{}") + 2)));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK(content(file) == before);
  };
  SECTION("What it lacks is not added") {
    run_sql(file, fmt::format("DELETE FROM raw_answer WHERE attribute={}", unsigned{smp::LinearForwardingTable::attribute_id}));
    before = content(file);
    CHECK(cached({"dump_lfts"}).out == run({"dump_lfts"}).out);
    CHECK(content(file) == before);
  }
  SECTION("It is old") {
    set_age(std::chrono::hours(25));
    stays("it is dated 20", {"ibhosts"});
  }
  SECTION("It is from the future") {
    set_age(-std::chrono::hours(1));
    stays("in the future", {"ibhosts"});
  }
  SECTION("--refresh-cache") { stays("all is read again", {"ibhosts", "--refresh-cache"}); }
  SECTION("Another fabric's") {
    set_fact(file, "device node_guid", "0:0:0:999");
    stays("it was read through another device", {"ibhosts"});
  }
  SECTION("Damaged") {
    run_sql(file, "DELETE FROM raw_node WHERE node=1");
    stays("is a damaged snapshot", {"ibhosts"});
  }
  SECTION("Of a newer version") {
    run_sql(file, "PRAGMA user_version=99");
    stays("is a snapshot of a newer ibtool", {"ibhosts"});
  }
}

TEST_CASE_METHOD(Bench, "A cache that others may write is not used, and not replaced") {
  using std::filesystem::perms;
  const perms mode = GENERATE(perms::group_write, perms::others_write);
  const std::string live = run({"ibhosts"}).out;
  cached({"ibhosts"});
  std::filesystem::permissions(file, mode, std::filesystem::perm_options::add);
  const std::string before = content(file);
  const Outcome outcome = cached({"ibhosts"});
  CHECK(outcome.out == live);
  CHECK(outcome.err == "W: '" + file + "' may be written by other users: it is not used as a cache\n");
  CHECK(sent > 0);
  CHECK(content(file) == before);
}

TEST_CASE_METHOD(Bench, "Why a cache from the future is not used is said with -v") {
  cached({"ibhosts"});
  set_age(-std::chrono::hours(1));
  CHECK_THAT(cached({"ibhosts", "-v"}).err, contains("is not used, it is dated 20") && contains("in the future"));
}

}  // namespace tools_cache_files_tests
