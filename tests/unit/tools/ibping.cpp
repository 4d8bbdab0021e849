// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibping and ibsysstat in both dialects, on a fabric in memory whose hosts answer vendor MADs; and the SA for their paths.
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "iba-gen/ofa.hpp"
#include "iba-gen/sa.hpp"
#include "mad/request.hpp"
#include "mad/sysstat.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_ibping_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;
using namespace ib;

namespace {

/// Two hosts on a switch. The other one, LID 3, answers each vendor request with `text`, but for the `lost` first ones.
struct Hosts {
  Hosts() {
    const auto leaf = fabric.add_switch(0x100, 4, "leaf");
    const auto here = fabric.add_ca(0x200, 1, "here");
    const auto other = fabric.add_ca(0x300, 1, "other");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.network.gmp = [this](Bytes request, const path::Path& path) { return answer(request, path); };
  }
  std::optional<FakeFabric::Answer> answer(Bytes request, const path::Path& path) {
    FakeFabric::Answer mad = ibtest::answer_to(request);
    if (request[1] == mad::mgmt_class::sa) {
      sa::PathRecord record;
      record.dlid = Lid{3};
      record.slid = fabric.end_port().lid;
      record.p_key = default_pkey.value;
      record.pack(MutableBytes(mad).subspan(mad::data_area(mad::mgmt_class::sa).offset));
      return mad;
    }
    CHECK(path.ib().dlid == Lid{3});
    requests.emplace_back(request.begin(), request.end());
    if (requests.size() == interrupted_at) {
      CHECK(std::raise(SIGINT) == 0);
      return std::nullopt;
    }
    if (lost > 0 && lost-- > 0) return std::nullopt;
    store_be(&mad[4], status);
    std::ranges::copy(text, mad.begin() + 40);
    return mad;
  }

  FakeFabric fabric;
  std::string text;
  unsigned lost = 0;
  std::uint16_t status = 0;
  std::size_t interrupted_at = 0;  ///< this request brings Ctrl-C instead of an answer
  std::vector<std::vector<std::uint8_t>> requests;
};

}  // namespace

TEST_CASE_METHOD(Hosts, "pings that are all answered") {
  const auto done = ibtool(fabric, {"ibping", "-c", "3", "3"});
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ibtest::starts_with("Ping reply, 'Path 2 -> 3 SL=0 PKey=0xffff DQPN=1': seq=1 time 0."));
  CHECK_THAT(done.out, contains("seq=3 time") && contains("\n--- Path 2 -> 3 SL=0 PKey=0xffff DQPN=1 statistics ---\n"
                                                          "3 packets transmitted, 3 received, 0% packet loss, time 2000."));
  REQUIRE(requests.size() == 3);
  CHECK(requests[0][1] == 0x33);
  CHECK(requests[0][17] == 0x10);
  CHECK(requests[0][38] == 0x14);
  CHECK(requests[0][39] == 0x05);
}

TEST_CASE_METHOD(Hosts, "the exit status of ibping shows losses, and losing all pings does not divide by zero") {
  lost = 1;
  const auto some = ibtool(fabric, {"ibping", "-c", "3", "--retries", "0", "-t", "100", "3"});
  CHECK(some.status == 1);
  CHECK_THAT(some.out, contains("3 packets transmitted, 2 received, 33% packet loss") &&
                           !contains("\nPing reply, 'Path 2 -> 3 SL=0 PKey=0xffff DQPN=1': seq=1 "));
  lost = ~0U;
  const auto all = ibtool(fabric, {"ibping", "-f", "-c", "3", "--retries", "0", "-t", "100", "3"});
  CHECK(all.status == 1);
  CHECK_THAT(all.out, contains("3 packets transmitted, 0 received, 100% packet loss, time 300.") && !contains("rtt"));
  CHECK(ibtool(fabric, {"ibping", "-c", "0", "3"}).status == 2);
}

TEST_CASE_METHOD(Hosts, "each ping that is lost says so, and how long it was waited for") {
  lost = 3;
  const auto some = ibtool(fabric, {"ibping", "-c", "3", "--retries", "1", "-t", "100", "3"});
  CHECK(some.status == 1);
  const std::string who = "'Path 2 -> 3 SL=0 PKey=0xffff DQPN=1'";
  CHECK_THAT(some.out, ibtest::starts_with("No ping reply, " + who + ": seq=1 waited 2") &&
                           contains(" ms, 2 tries\nPing reply, " + who + ": seq=2 "));
  CHECK(some.err.empty());
  lost = 1;
  CHECK_THAT(ibtool(fabric, {"ibping", "-c", "1", "--retries", "0", "-t", "50", "3"}).out, contains("seq=1 waited 50.000 ms, 1 try\n"));
  lost = 1;
  CHECK_THAT(ibtool(fabric, {"ibping", "-v", "-c", "1", "--retries", "0", "3"}).err, contains("E: +RPC"));
  status = 0xc;
  CHECK_THAT(ibtool(fabric, {"ibping", "-c", "1", "3"}).out,
             contains("seq=1 waited 0.0") && contains("ms, LID 3 does not support SysStatPing (status 0xc)"));
  CHECK_THAT(ibtool(fabric, {"ibping", "-f", "-c", "2", "3"}).out, ibtest::starts_with("---"));
}

TEST_CASE_METHOD(Hosts, "ibping by its legacy name") {
  text = "far\x1b.example";
  const auto done = diags(fabric, {"ibping", "-c", "2", "-o", "0x1234", "3"});
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ibtest::starts_with("Pong from far .example (Lid 3): time 0.0"));
  CHECK_THAT(
      done.out,
      contains("\n\n--- far .example (Lid 3) ibping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 2000 ms\n"
               "rtt min/avg/max = 0.0"));
  CHECK(done.err.empty());
  CHECK(requests.back()[1] == 0x32);
  CHECK(requests.back()[38] == 0x12);
  CHECK_THAT(diags(fabric, {"ibping", "-f", "-c", "2", "3"}).out, ibtest::starts_with("\n---"));
}

TEST_CASE_METHOD(Hosts, "ibping of infiniband-diags to a silent host") {
  lost = ~0U;
  const auto done = diags(fabric, {"ibping", "-c", "1", "-t", "100", "3"});
  CHECK(done.status == 0);
  CHECK_THAT(done.out,
             ibtest::starts_with("\n---  (Lid 3) ibping statistics ---\n1 packets transmitted, 0 received, 100% packet loss, time 13") &&
                 ibtest::ends_with(" ms\nrtt min/avg/max = 0.000/0.000/0.000 ms\n"));
  CHECK_THAT(done.err, contains("mad_rpc_rmpp: _do_madrpc failed; dport (Lid 3)\n"));
}

TEST_CASE_METHOD(Hosts, "a ping that is under way when ibping is interrupted is neither received nor lost") {
  interrupted_at = 3;
  const auto legacy = diags(fabric, {"ibping", "3"});
  CHECK(legacy.status == 0);
  CHECK_THAT(legacy.out, contains("\n3 packets transmitted, 2 received, 0% packet loss"));
  requests.clear();
  CHECK_THAT(ibtool(fabric, {"ibping", "3"}).out, contains("\n3 packets transmitted, 2 received, 0% packet loss"));
}

TEST_CASE_METHOD(Hosts, "pings to a full disk end") {
  CHECK(ibtool(fabric, {"ibping", "3"}, {.full_disk = true}).status == 3);
  CHECK(diags(fabric, {"ibping", "3"}, {.full_disk = true}).status == 255);
  CHECK(requests.size() == 2);
  CHECK(diags(fabric, {"ibsysstat", "3"}, {.full_disk = true}).status == 255);
}

TEST_CASE_METHOD(Hosts, "servers answer until the channel breaks, and say where another program serves") {
  std::vector<FakeFabric::Answer> answers;
  fabric.network.gmp = [&](Bytes answer, const path::Path&) {
    answers.emplace_back(answer.begin(), answer.end());
    return std::nullopt;
  };
  const auto ask_served = [](ibtest::FakeChannel& channel) {
    const path::Path path = path::IbPath();
    for (const std::uint8_t mgmt_class : {mad::mgmt_class::ofa_ping, mad::mgmt_class::ofa_sysstat}) {
      const std::uint16_t attribute = mgmt_class == mad::mgmt_class::ofa_ping ? 0 : 0x10;
      const mad::Request request{.path = path, .mgmt_class = mgmt_class, .attribute_id = attribute, .payload = {}, .oui = mad::openib_oui};
      channel.deliver(mad::to_mad(request), std::chrono::milliseconds(1));
    }
    channel.later(std::chrono::milliseconds(2), [&channel] { channel.break_down(EIO); });
  };
  const auto classes_answered = [&](const ibtest::Outcome& done) {
    INFO(done.out + done.err);
    std::set<unsigned> classes;
    for (const FakeFabric::Answer& answer : answers) classes.insert(answer[1]);
    answers.clear();
    return classes;
  };
  fabric.network.on_serve = ask_served;
  CHECK(classes_answered(ibtool(fabric, {"ibping", "-S"})) == std::set<unsigned>{0x32, 0x33});
  CHECK(classes_answered(ibtool(fabric, {"ibping", "-S", "--protocol", "ibping"})) == std::set<unsigned>{0x32});
  CHECK(classes_answered(ibtool(fabric, {"ibsysstat", "-S"})) == std::set<unsigned>{0x33});
  CHECK(classes_answered(diags(fabric, {"ibping", "-S", "operands", "are", "ignored"})) == std::set<unsigned>{0x32});
  CHECK(classes_answered(diags(fabric, {"ibsysstat", "-S"})) == std::set<unsigned>{0x33});

  fabric.network.on_serve = [](ibtest::FakeChannel&) { throw SysError(EINVAL, "register", "umad0"); };
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "-S"}).err, contains("register umad0: Invalid argument"));
  CHECK(diags(fabric, {"ibping", "-S"}).out == "ibping: iberror: failed: can't serve class 50 on this port\n");
  const auto taken = diags(fabric, {"ibsysstat", "-S"});
  CHECK(taken.status == 255);
  CHECK(taken.out == "ibsysstat: iberror: failed: can't serve class 51\n");
}

TEST_CASE_METHOD(Hosts, "ibsysstat by its legacy name sends one request") {
  CHECK(diags(fabric, {"ibsysstat", "3"}).out == "sysstat ping succeeded\n");
  CHECK(requests.back()[17] == 0x10);
  text = "na\x1b[31mme";
  CHECK(diags(fabric, {"ibsysstat", "3", "host"}).out == "na [31mme\n");
  text = "cpu 0: model A\ncpu 1: \x07model B\n";
  const auto cpus = diags(fabric, {"ibsysstat", "3", "cpu"});
  CHECK(cpus.out == "cpu 0: model A\ncpu 1:  model B\n\n");
  CHECK(cpus.err.empty());
  // A refusal is an answer, from which nothing is read.
  status = 0xc;
  const auto refused = diags(fabric, {"ibsysstat", "3", "host"});
  CHECK(refused.status == 0);
  CHECK(refused.out == "\n");
  requests.clear();
  lost = ~0U;
  const auto silent = diags(fabric, {"ibsysstat", "3", "host"});
  CHECK(silent.status == 255);
  CHECK(silent.out == "ibsysstat: iberror: failed: ibsystat to Lid 3: Connection timed out\n");
  CHECK(silent.err.empty());
  CHECK(requests.size() == 1);
}

TEST_CASE_METHOD(Hosts, "pings as JSON: a line for each, or one document") {
  lost = 1;
  text = "far\x1b.example";
  const auto done = ibtool(fabric, {"ibping", "--json=lines", "--protocol", "ibping", "-c", "2", "--retries", "0", "-o", "0x1234", "3"});
  CHECK(done.status == 1);
  std::vector<json> lines;
  for (std::istringstream in(done.out); in.good();) {
    std::string line;
    if (std::getline(in, line) && !line.empty()) lines.push_back(json::parse(line));
  }
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["list"] == "pings");
  CHECK(lines[0]["item"]["rtt_ms"].is_null());
  CHECK(lines[0]["item"]["host"].is_null());
  CHECK_THAT(lines[0]["item"]["error"].get<std::string>(), contains("No answer from LID 3"));
  CHECK(lines[1]["item"]["host"] == "far\x1b.example");
  CHECK_THAT(done.out, !contains("\x1b"));
  CHECK(lines[2]["lost"] == 1);
  CHECK(lines[2]["path"]["dlid"] == 3);
  CHECK(requests.back()[1] == 0x32);
  CHECK(requests.back()[38] == 0x12);
  const json document = json::parse(ibtool(fabric, {"ibping", "--json", "-f", "-c", "2", "3"}).out);
  CHECK(document.at("received") == 2);
  CHECK(document.at("avg_rtt_ms").is_number());
  REQUIRE(document.at("pings").size() == 2);
  CHECK(document.at("pings")[1]["seq"] == 2);
  CHECK(document.at("pings")[1]["rtt_ms"].is_number());
  CHECK(document.at("pings")[1]["error"].is_null());
}

TEST_CASE_METHOD(Hosts, "text from a host is made safe by ibsysstat") {
  text = "na\x1b[31mme";
  CHECK(ibtool(fabric, {"ibsysstat", "3", "host"}).out == "Data_str.........................'na\\x1b[31mme'\n");
  CHECK(json::parse(ibtool(fabric, {"ibsysstat", "--json", "3", "host"}).out)["host"] == "na\x1b[31mme");
  text = std::string("cpu 0: model A MHZ 1\ncpu 1: \x07model B MHZ 2\n\0junk", 48);
  CHECK(ibtool(fabric, {"ibsysstat", "3", "cpu"}).out == "cpu 0: model A MHZ 1\ncpu 1: \\x07model B MHZ 2\n");
  CHECK(json::parse(ibtool(fabric, {"ibsysstat", "--json", "3", "cpu"}).out)["cpus"].size() == 2);
  CHECK(requests.back()[17] == 0x12);
  text = std::string(7, '\0') + "\x2a";
  CHECK(ibtool(fabric, {"ibsysstat", "3", "ping"}).out == "Cookie...........................42\n");
}

TEST_CASE_METHOD(Hosts, "a refusal and a host that is silent end ibsysstat with status 3") {
  status = 0xc;
  const auto refused = ibtool(fabric, {"ibsysstat", "3", "host"});
  CHECK(refused.status == 3);
  CHECK_THAT(refused.err, ibtest::starts_with("E: 'other' (LID 3) does not support "));
  lost = ~0U;
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "3", "ping"}).err, contains("No answer from LID 3 about "));
}

TEST_CASE_METHOD(Hosts, "operands of ibping and ibsysstat that are missing, wrong or in the way") {
  const auto missing = ibtool(fabric, {"ibping"});
  CHECK(missing.status == 2);
  CHECK(missing.err == "E: Too few arguments: TARGET is missing (usage: ibtool ibping -S | TARGET)\n");
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "3"}).err, contains("ping|host|cpu|cpi is missing"));
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "3", "hots"}).err, contains("Not one of ping, host, cpi or cpu: did you mean host?"));
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "-S", "3", "ping"}).err, contains("-S and TARGET contradict each other"));
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "-S", "nobody"}).err, contains("-S and TARGET contradict each other"));
  CHECK_THAT(ibtool(fabric, {"ibping", "-S", "3"}).err, contains("-S and TARGET contradict each other"));
  CHECK_THAT(ibtool(fabric, {"ibping", "-f", "-S"}).err, contains("-S and -f contradict each other"));
  for (const char* number : {"-1", "0", "x"}) CHECK(ibtool(fabric, {"ibping", "-c", number, "3"}).status == 2);
  CHECK(ibtool(fabric, {"ibping", "-o", "0x1000000", "3"}).status == 2);
  for (const auto& words : std::vector<std::vector<std::string>>{{"ibping"}, {"ibsysstat"}, {"ibsysstat", "3", "cpi"}}) {
    CAPTURE(words);
    const auto usage = diags(fabric, words);
    CHECK(usage.status == 2);
    CHECK(usage.out.empty());
    CHECK_THAT(usage.err, contains("Usage: " + words[0] + " [options]"));
  }
  CHECK(diags(fabric, {"ibping", "zz"}).out == "ibping: iberror: failed: can't resolve destination port zz\n");
  CHECK(requests.empty());
}

}  // namespace tools_ibping_tests
