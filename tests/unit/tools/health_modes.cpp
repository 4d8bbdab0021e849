// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The modes of health: --baseline, --nodes, --port local and --repeat.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_health_modes_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::starts_with;
using ibtest::health::check;
using ibtest::health::Fabric;
using ibtest::health::Words;
using nlohmann::json;

namespace {

constexpr std::size_t vendor_data = 24;  // of the data in MADs of Mellanox's class

}  // namespace

TEST_CASE("health: --baseline reports changes, live and between two snapshots") {
  Fabric f;
  const std::string before = f.directory.file("before"), after = f.directory.file("after");
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  const json same = f.found({"--baseline", before});
  CHECK(same["verdict"] == "healthy");
  CHECK(check(same, "link-gone")["check_state"] == "done");
  CHECK(check(same, "symbol-errors")["check_state"] == "done");  // its counters are the first reading
  f.fabric.set_link(f.other, 1, false);
  const json gone = f.found({"--baseline", before}, 1);
  REQUIRE(gone["findings"].size() == 2);
  CHECK(gone["findings"][1]["check"] == "sm-no-standby");  // that was there
  const json& finding = gone["findings"][0];
  CHECK(finding["check"] == "node-gone");
  CHECK(finding["ends"][0]["node_description"] == "other");
  CHECK(finding["ends"][0]["node_guid"] == "0000:0000:0000:0300");
  CHECK_THAT(finding["text"].get<std::string>(), contains("Its port 1 was linked to 'leaf' 0000:0000:0000:0100 port 2."));
  CHECK_THAT(f.run({"--baseline", before}, 1).out, contains("\nerror: node-gone (sure): 'other' 0000:0000:0000:0300\n"));
  REQUIRE(ibtool(f.fabric, {"snapshot", after}).status == 0);
  CHECK(f.found({"--from", after, "--baseline", before, "--skip-sl"}, 1)["findings"][0]["check"] == "node-gone");
  CHECK(f.found({"--from", before, "--baseline", after, "--skip-sl"})["findings"][0]["check"] == "node-new");
  CHECK(check(f.found(), "link-gone")["reason"] == "no --baseline is given");
  CHECK_THAT(f.run({"--baseline", "/nowhere/a"}, 2).err, contains("/nowhere/a"));
}

TEST_CASE("health: a change is reported with the old and the new value and the port") {
  Fabric f;
  const std::string before = f.directory.file("before");
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  f.fabric.node(f.other).info.revision = 0xb1;
  f.fabric.node(f.other).ports.at(1).info.mtu_cap = smp::Mtu::mtu_2048;
  const Outcome told = f.run({"--baseline", before}, 1);
  CHECK_THAT(told.out, contains("warning: changed (sure): 'other' 0000:0000:0000:0300\n  revision was "));
  CHECK_THAT(told.out, contains("MTUCap was 5, is 4 at port 1."));

  Fabric settings;
  const std::string good = settings.directory.file("good");
  REQUIRE(ibtool(settings.fabric, {"snapshot", good}).status == 0);
  settings.fabric.node(settings.other).ports.at(1).pkeys = {0x8005, 0xffff};
  settings.fabric.node(settings.leaf).sm_info->priority = 7;
  const Outcome changed = settings.run({"--baseline", good, "--only", "changed"}, 1);
  CHECK_THAT(changed.out, contains("priority was 5, is 7"));
  CHECK_THAT(changed.out, contains("P_Keys of port 1: new 0x8005."));
}

TEST_CASE("health: the firmware is read of live nodes whose firmware the baseline has") {
  Fabric f;
  f.fabric.node(f.leaf).info.vendor_id = f.fabric.node(f.other).info.vendor_id = 0x2c9;
  std::uint8_t version = 9;
  std::size_t asked = 0;
  f.fabric.node(f.other).services[subnet::mlnx_vendor_class].answer = [&](unsigned, Bytes request) {
    FakeFabric::Answer answer = ibtest::answer_to(request);
    mlx::GeneralInfo info;
    info.fw_major = version;
    if (load_be<std::uint16_t>(&request[16]) == mlx::GeneralInfo::attribute_id) {
      ++asked;
      info.pack(MutableBytes(answer).subspan(vendor_data, mlx::GeneralInfo::wire_size));
    }
    return std::optional(answer);
  };
  FakeFabric::Service& silent = f.fabric.node(f.leaf).services[subnet::mlnx_vendor_class];
  const std::string before = f.directory.file("before");
  silent.answer = [](unsigned, Bytes) { return std::optional<FakeFabric::Answer>(); };
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  CHECK(std::exchange(asked, 0) == 1);
  const unsigned requests = silent.requests;

  const Outcome same = f.run({"--baseline", before, "--interval", "0"});
  CHECK(asked == 1);
  CHECK(silent.requests == requests);  // the baseline has no firmware of it
  CHECK(same.out.find("firmware") == std::string::npos);
  version = 10;
  const json other = f.found({"--baseline", before, "--only", "changed"}, 1);
  REQUIRE(other["findings"].size() == 1);
  CHECK(other["findings"][0]["ends"][0]["node_description"] == "other");
  CHECK_THAT(other["findings"][0]["text"].get<std::string>(), contains("Its firmware was 9.0.0, is 10.0.0."));

  asked = 0;
  const json rounds = f.found({"--baseline", before, "--repeat", "--count", "3", "--only", "changed"}, 1)["readings"];
  REQUIRE(rounds.size() == 3);
  CHECK(asked == 1);
  for (const json& round : rounds) CHECK(round["findings"].size() == 1);

  asked = 0;
  CHECK(f.found({"--baseline", before, "--skip", "changed", "--interval", "0"})["verdict"] == "healthy");
  CHECK(asked == 0);
  f.fabric.node(f.other).services[subnet::mlnx_vendor_class].faults.silent = true;
  const json lost = f.found({"--baseline", before, "--only", "changed,node-partial"}, 1);
  REQUIRE(lost["findings"].size() == 1);
  CHECK(lost["findings"][0]["check"] == "node-partial");
  f.fabric.node(f.other).services.erase(subnet::mlnx_vendor_class);  // it refuses the request, as any node may
  CHECK(f.found({"--baseline", before, "--only", "changed,node-partial"})["findings"].empty());
}

TEST_CASE("health: --nodes looks at the links between hosts") {
  Fabric f;
  const auto count = [&f] { f.pma.count(2, "symbol_error_counter") += 30; };
  f.clock.happens = count;
  CHECK(f.found({"--nodes", "here,other"}, 1)["findings"].size() == 1);
  for (const char* other_forms : {"HERE,oth*", "here.example.org,other"}) {
    f.clock.happens = count;
    CHECK(f.found({"--nodes", other_forms}, 1)["findings"].size() == 1);
  }
  f.clock.happens = count;
  CHECK(f.found({"--nodes", "here"})["findings"].empty());
  f.clock.happens = count;
  CHECK(f.found({"--nodes", f.file("hosts", "here\nother\n")}, 1)["findings"].size() == 1);
  const json part = f.found({"--nodes", "other,gone[1-2]"}, 4);
  CHECK(part["verdict"] == "unknown");
  CHECK(part["unreachable"].size() == 2);
  CHECK(f.found({"--nodes", "oth", "--host-regex", "^oth"})["findings"].empty());
  CHECK_THAT(f.run({"--nodes", "n1"}, 2).err, contains("none of these hosts"));
  CHECK_THAT(f.run({"--nodes", "n[1-"}, 2).err, contains("a bracket is not closed"));
  CHECK_THAT(f.run({"--nodes", "other", "3"}, 2).err, contains("exclude each other"));
  CHECK_THAT(f.run({"--nodes", "other", "--host-regex", "("}, 2).err, contains("not a regular expression"));
  f.fabric.node(f.other).faults.silent = true;
  CHECK_THAT(f.run({"--nodes", "other"}, 3).err, contains("none of these hosts answers; parts of the fabric did not"));
  CHECK_THAT(f.run({"--nodes", "here,other", "--interval", "0"}, 4).err,
             contains("the host 'other' does not answer, or is not in the fabric"));
}

TEST_CASE("health: a subnet manager that does not answer is found with --nodes and with a TARGET that is not its node") {
  for (const Words& part : {Words{"--nodes", "here"}, {"2"}, {"--nodes", "here,other"}}) {
    Fabric f;
    f.fabric.node(f.leaf).faults.ignores = smp::SMInfo::attribute_id;
    Words words = part;
    words.insert(words.end(), {"--interval", "0"});
    const json found = f.found(words, 1);
    REQUIRE(found["findings"].size() == 1);
    CHECK(found["findings"][0]["check"] == "sm-silent");
    f.fabric.node(f.leaf).sm_info.reset();
    f.fabric.node(f.other).sm_info.reset();
    for (const FakeFabric::NodeId id : {f.leaf, f.other}) {
      for (FakeFabric::Port& port : f.fabric.node(id).ports) port.info.capability_mask &= ~smp::capability_mask::is_sm;
    }
    f.fabric.node(f.leaf).faults.ignores = 0;
    CHECK(f.found(words, 1)["findings"][0]["check"] == "sm-none");
  }
}

TEST_CASE("health: --port local sends eight MADs at most, and --state keeps the reading") {
  Fabric f;
  const auto answered = [&f] {
    unsigned sum = 0;
    for (FakeFabric::NodeId node = 0; node < f.fabric.size(); ++node) sum += f.fabric.node(node).answered;
    return sum;
  };
  const std::string state = f.directory.file("state");
  const unsigned before = answered();
  const json first = f.found({"--port", "local", "--state", state});
  CHECK(answered() - before <= 8);
  CHECK(first["link_count"] == 1);
  CHECK(check(first, "symbol-errors")["check_state"] == "skipped");
  CHECK(check(first, "lid-duplicate")["reason"] == "--port local looks at one link");
  struct stat status {};
  REQUIRE(::stat(state.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  f.clock.advance(60s);
  f.here_pma.count(1, "symbol_error_counter") += 300;
  f.here_pma.count(1, "port_rcv_errors") += 300;
  const unsigned again = answered();
  const json second = f.found({"--port", "local", "--state", state}, 1);
  CHECK(answered() - again <= 8);
  REQUIRE(second["findings"].size() == 1);
  CHECK(second["findings"][0]["evidence"][0]["delta"] == 300);
  CHECK(second["window_seconds"].get<double>() == Approx(60).epsilon(0.1));
  CHECK(f.found({"--port", "local", "--state", state})["verdict"] == "healthy");
  CHECK(f.found({"--port", "local"})["window_seconds"].get<double>() == Approx(10).epsilon(0.1));
  std::ifstream file(state);
  std::string whole, damaged;
  std::getline(file, whole);
  damaged = whole + '\n';
  damaged[damaged.rfind(' ') + 1] = 'x';
  // Cut behind the traffic counters, a state says nothing of the errors.
  const std::string cut = whole.substr(0, whole.find(" symbol_error_counter"));
  for (const std::string& other : {std::string(), std::string(500, '\0'), "ibtool-health-1 " + std::string(50000, '0'), cut, damaged}) {
    f.file("state", other);
    CHECK(check(f.found({"--port", "local", "--state", state}), "symbol-errors")["check_state"] == "skipped");
    CHECK(check(f.found({"--port", "local", "--state", state}), "symbol-errors")["check_state"] == "done");
  }
}

TEST_CASE("health: --port local sends eight MADs at most where the other end is silent, and warns of a link that went down") {
  Fabric f;
  const auto sent = [](const Outcome& told) {
    const std::size_t at = told.err.find("mads sent: ");
    REQUIRE(at != std::string::npos);
    return std::stoul(told.err.substr(at + 11));
  };
  const std::string state = f.directory.file("state");
  f.run({"--port", "local", "--state", state});
  f.fabric.node(f.leaf).faults.silent = true;
  const Outcome silent = f.run({"--port", "local", "--state", state, "--stats"}, 1);
  CHECK(sent(silent) <= 8);
  CHECK_THAT(silent.out, contains("error: node-silent"));
  f.fabric.node(f.leaf).faults.silent = false;
  f.fabric.node(f.leaf).faults.ignores = smp::PortInfo::attribute_id;
  CHECK(sent(f.run({"--port", "local", "--state", state, "--stats"}, 4)) <= 8);
  f.fabric.node(f.leaf).faults.ignores = 0;
  f.here_pma.count(1, "link_downed_counter") += 1;
  const json flapped = f.found({"--port", "local", "--state", state}, 1);
  REQUIRE(flapped["findings"].size() == 1);
  CHECK(flapped["findings"][0]["check"] == "link-flap");
  CHECK(flapped["findings"][0]["level"] == "warning");
}

TEST_CASE("health: a --state of an impossible time is as good as none") {
  Fabric f;
  const std::string state = f.directory.file("state");
  f.run({"--port", "local", "--state", state});
  std::ifstream file(state);
  std::string kind, guid, port, time, rest;
  file >> kind >> guid >> port >> time;
  std::getline(file, rest);
  for (const char* other : {"9223372036854775807", "-9223372036854775807", "99999999999999"}) {
    std::ofstream(state) << kind << ' ' << guid << ' ' << port << ' ' << other << rest << '\n';
    CHECK(check(f.found({"--port", "local", "--state", state}), "symbol-errors")["check_state"] == "skipped");
  }
}

TEST_CASE("health: a file that somebody has planted is not the --state") {
  Fabric f;
  const std::string link = f.directory.file("link"), victim = f.file("victim", "precious");
  REQUIRE(::symlink(victim.c_str(), link.c_str()) == 0);
  CHECK_THAT(f.run({"--port", "local", "--state", link}, 2).err, contains("is a symbolic link"));
  CHECK_THAT(f.run({"--port", "local", "--state", f.directory.path().string()}, 2).err, contains("is not a regular file"));
  CHECK_THAT(f.run({"--port", "local", "--state", victim}, 2).err, contains("holds something else than a state of ibtool health"));
  std::string kept;
  std::getline(std::ifstream(victim), kept);
  CHECK(kept == "precious");
  REQUIRE(::chmod(victim.c_str(), 0666) == 0);
  CHECK_THAT(f.run({"--port", "local", "--state", victim}, 2).err, contains("is writable by others"));
  CHECK_THAT(f.run({"--state", link}, 2).err, contains("--state needs --port local"));
  CHECK_THAT(f.run({"--port", "local", "--repeat"}, 2).err, contains("--port local looks at this host's link only"));
}

TEST_CASE("health: --repeat compares each round with the one before, and reports findings that come and go") {
  Fabric f;
  f.clock.happens = [&f] {
    f.pma.count(2, "symbol_error_counter") += 30;
    f.clock.happens = [&f] {
      f.fabric.set_link(f.other, 1, false);
      f.clock.happens = [&f] { f.fabric.set_link(f.other, 1, true); };
    };
  };
  const json rounds = f.found({"--repeat", "--count", "4"}, 1)["readings"];
  REQUIRE(rounds.size() == 4);
  const auto checks = [](const json& round) {
    Words ids;
    for (const json& finding : round["findings"]) ids.push_back(finding["check"]);
    return ids;
  };
  CHECK(rounds[0]["window_seconds"].is_null());
  CHECK(checks(rounds[0]).empty());
  CHECK(checks(rounds[1]) == Words{"symbol-errors"});
  CHECK(rounds[1]["window_seconds"].get<double>() == Approx(10).epsilon(0.1));
  CHECK(checks(rounds[2]) == Words{"node-gone", "sm-no-standby"});
  CHECK(checks(rounds[3]) == Words{"node-new"});

  Fabric healthy;
  const Outcome lines = healthy.run({"--repeat", "--count", "3", "--format", "jsonl"});
  CHECK(std::ranges::count(lines.out, '\n') == 4);  // a line each, and what ends the document
  const Outcome text = healthy.run({"--repeat", "--count", "2", "--interval", "30"});
  CHECK(text.out.find('\033') == std::string::npos);
  CHECK_THAT(text.out, contains("; watched 30 s.\n"));
  CHECK_THAT(healthy.run({"--count", "3"}, 2).err, contains("needs --repeat"));
  CHECK_THAT(healthy.run({"--repeat", "--interval", "0"}, 2).err, contains("more than 0"));
}

TEST_CASE("health: --repeat looks at the node that TARGET was in the first round, whatever its LID is now") {
  Fabric f;
  f.clock.happens = [&f] {
    f.fabric.node(f.other).ports.at(1).info.lid = Lid{5};
    auto& table = f.fabric.node(f.leaf).lft;
    table.resize(std::max<std::size_t>(table.size(), 6), 255);
    f.fabric.node(f.leaf).lft[5] = f.fabric.node(f.leaf).lft[3];
    f.pma.count(2, "symbol_error_counter") += 30;
  };
  const json rounds = f.found({"3", "--repeat", "--count", "2", "--only", "symbol-errors"}, 1)["readings"];
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0]["link_count"] == 1);
  REQUIRE(rounds[1]["findings"].size() == 1);
  CHECK(rounds[1]["findings"][0]["ends"][1]["node_description"] == "other");
}

TEST_CASE("health: --repeat sees a manager that does nothing for two minutes") {
  Fabric f;
  std::function<void()> next = [&] {
    f.fabric.node(f.leaf).sm_info->act_count += 5;
    f.fabric.node(f.other).sm_info->act_count += 1;  // the answer to us
    f.clock.happens = next;
  };
  f.clock.happens = next;
  const json rounds = f.found({"--repeat", "--count", "15"}, 1)["readings"];
  REQUIRE(rounds.size() == 15);
  CHECK(check(rounds[11], "sm-stuck")["reason"] == "needs a window of 120 s");
  for (const std::size_t late : {13U, 14U}) {
    REQUIRE(rounds[late]["findings"].size() == 1);
    CHECK(rounds[late]["findings"][0]["check"] == "sm-stuck");
    CHECK(rounds[late]["findings"][0]["ends"][0]["node_description"] == "other");
  }
}

TEST_CASE("health: --repeat waits for a fabric that is away") {
  Fabric f;
  f.clock.happens = [&f] {
    f.fabric.channel().break_down(EIO);
    f.clock.happens = [&f] { f.pma.count(2, "symbol_error_counter") += 30; };
  };
  const Outcome told = f.run({"--repeat", "--count", "4", "--json"}, 1);
  CHECK_THAT(told.err, contains("the fabric cannot be reached, and is waited for: "));
  CHECK_THAT(told.err, contains("the fabric can be reached again"));
  const json rounds = json::parse(told.out)["readings"];
  REQUIRE(rounds.size() == 3);
  CHECK(rounds[1]["findings"][0]["check"] == "symbol-errors");
  CHECK(rounds[1]["window_seconds"].get<double>() == Approx(20).epsilon(0.1));

  f.clock.happens = [&f] {
    f.fabric.set_link(f.here, 1, false);
    f.clock.happens = [&f] { f.fabric.set_link(f.here, 1, true); };
  };
  const Outcome unplugged = f.run({"--repeat", "--count", "4", "--json"});
  CHECK_THAT(unplugged.err, contains("nothing answers beyond the end port"));
  CHECK(json::parse(unplugged.out)["readings"].size() == 3);
}

TEST_CASE("health: --repeat does not grow") {
  Fabric f;
  std::size_t rounds = 0, early = 0, late = 0;
  const auto heap = [] { return ::mallinfo2().uordblks; };  // 0 where a sanitizer has a heap of its own
  std::function<void()> next = [&] {
    ++rounds;
    f.fabric.set_link(f.other, 1, rounds % 5 != 0);
    if (rounds % 50 == 48) f.fabric.channel().break_down(EIO);
    f.sa.asked.clear();
    f.pma.asked.clear();
    f.here_pma.asked.clear();
    f.other_pma.asked.clear();
    if (rounds == 100) early = heap();
    if (rounds == 600) late = heap();
    f.clock.happens = next;
  };
  f.clock.happens = next;
  f.run({"--repeat", "--count", "620"}, 1);
  CHECK(rounds >= 619);
  CHECK(late <= early + 32 * 1024);
}

TEST_CASE("health --nodes: machines of one name are named and counted one by one") {
  Fabric f;
  const auto third = f.fabric.add_ca(0x400, 1, "node"), fourth = f.fabric.add_ca(0x500, 1, "node");
  f.fabric.link(f.leaf, 3, third, 1);
  f.fabric.link(f.leaf, 4, fourth, 1);
  f.fabric.node(third).info.system_image_guid = Guid{0x4ff};
  f.fabric.node(fourth).info.system_image_guid = Guid{0x5ff};
  f.fabric.assign_lids();
  const Outcome outcome =
      ibtool(f.fabric, {"health", "--nodes", "here,node", "--interval", "0", "--only", "link-slow"}, {.clock = &f.clock});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, starts_with("Healthy by 1 of 73 checks: nothing found on 3 hosts, "));
  CHECK_THAT(outcome.err, contains("--nodes: 2 machines are called 'node' (by SystemImageGUID), and all of them are looked at"));
  f.fabric.node(fourth).info.system_image_guid = Guid{0x4ff};  // two adapters of one machine
  const Outcome one = ibtool(f.fabric, {"health", "--nodes", "here,node", "--interval", "0", "--only", "link-slow"}, {.clock = &f.clock});
  CHECK_THAT(one.out, starts_with("Healthy by 1 of 73 checks: nothing found on 2 hosts, "));
  CHECK_THAT(one.err, !contains("machines are called"));
  const Outcome two =
      ibtool(f.fabric, {"health", "--nodes", "here", "--interval", "0", "--only", "link-slow,symbol-errors"}, {.clock = &f.clock});
  CHECK_THAT(two.out, starts_with("Healthy by 1 of 73 checks: "));  // symbol-errors needs a second reading, and was not run
}

TEST_CASE("a file of another fabric is refused in one line, by whatever compares") {
  Fabric f;
  ibtest::CountingFabric other;
  for (const auto node : {other.leaf, other.here, other.other}) other.fabric.node(node).info.node_guid.value += 0x7000;
  const std::string file = f.directory.file("other");
  REQUIRE(ibtool(other.fabric, {"snapshot", file}, {.clock = &f.clock}).status == 0);
  f.clock.advance(10s);
  for (const Words& words : {Words{"health", "--baseline", file}, Words{"health", "--since", file}, Words{"subnet_diff", file}}) {
    const Outcome outcome = ibtool(f.fabric, words, {.clock = &f.clock});
    CAPTURE(words, outcome.out, outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains("it is of another fabric: none of its 3 nodes is here\n"));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
}

}  // namespace tools_health_modes_tests
