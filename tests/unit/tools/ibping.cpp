// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibping and ibsysstat as clients, on a fabric in memory whose hosts answer vendor MADs; and the SA for their paths.
#include <nlohmann/json.hpp>

#include "iba-gen/ofa.hpp"
#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"

using ibtest::contains;
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
    if (lost > 0 && lost-- > 0) return std::nullopt;
    store_be(&mad[4], status);
    std::ranges::copy(text, mad.begin() + 40);
    return mad;
  }

  FakeFabric fabric;
  std::string text;
  unsigned lost = 0;
  std::uint16_t status = 0;
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

TEST_CASE_METHOD(Hosts, "the exit status of ibping tells of losses, and all lost is no division by zero") {
  lost = 1;
  const auto some = ibtool(fabric, {"ibping", "-c", "3", "--retries", "0", "-t", "100", "3"});
  CHECK(some.status == 1);
  CHECK_THAT(some.out, contains("3 packets transmitted, 2 received, 33% packet loss") && !contains("seq=1 "));
  lost = ~0U;
  const auto all = ibtool(fabric, {"ibping", "-f", "-c", "3", "--retries", "0", "-t", "100", "3"});
  CHECK(all.status == 1);
  CHECK_THAT(all.out, contains("3 packets transmitted, 0 received, 100% packet loss, time 300.") && !contains("rtt"));
  CHECK(ibtool(fabric, {"ibping", "-c", "0", "3"}).status == 0);
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
  CHECK(lines[0]["time_ms"].is_null());
  CHECK_THAT(lines[0]["error"].get<std::string>(), contains("timed out"));
  CHECK(lines[1]["host"] == "far\x1b.example");
  CHECK_THAT(done.out, !contains("\x1b"));
  CHECK(lines[2]["lost"] == 1);
  CHECK(requests.back()[1] == 0x32);
  CHECK(requests.back()[38] == 0x12);
  const json document = json::parse(ibtool(fabric, {"ibping", "--json", "-c", "2", "3"}).out);
  CHECK(document["received"] == 2);
  CHECK(document["rtt_ms"]["avg"].is_number());
  REQUIRE(document["pings"].size() == 2);
  CHECK(document["pings"][1]["seq"] == 2);
  CHECK(document["pings"][1]["time_ms"].is_number());
}

TEST_CASE_METHOD(Hosts, "what ibsysstat shows of a host is safe to show") {
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
  CHECK(refused.err ==
        "E: RPC MAD_METHOD_GET(1) OFASysStatFormat(51.1) OFASysStatHostInfo(17) got error status 0xc - Unsupported method+attr\n");
  lost = ~0U;
  CHECK_THAT(ibtool(fabric, {"ibsysstat", "3", "ping"}).err, contains("OFASysStatPing(16) timed out to 'Path 2 -> 3 "));
}

TEST_CASE_METHOD(Hosts, "usage of ibping and ibsysstat") {
  CHECK(ibtool(fabric, {"ibping"}).status == 2);
  CHECK(ibtool(fabric, {"ibping", "-S", "3"}).status == 2);
  CHECK(ibtool(fabric, {"ibping", "-o", "0x1000000", "3"}).status == 2);
  CHECK(ibtool(fabric, {"ibping", "-c", "-1", "3"}).status == 2);
  CHECK(ibtool(fabric, {"ibsysstat", "3"}).err == "E: Expect 2 arguments.\n");
  CHECK(ibtool(fabric, {"ibsysstat", "3", "zz"}).err == "E: Invalid command line argument #2 'zz' - Not one of ping, host, cpi or cpu\n");
  CHECK(ibtool(fabric, {"ibsysstat", "-S", "3", "ping"}).err == "E: Too many arguments.\n");
  CHECK(requests.empty());
}
