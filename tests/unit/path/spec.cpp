// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Path specs: written as python-rdma writes them, read back to the same path, refused with its words.

#include <random>

#include "base/error.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"

namespace path_spec_tests {

using namespace ib;
using path::IbDrPath;
using path::IbPath;
using path::parse_spec;
using path::Path;

namespace {

struct Host {
  Host() {
    sysfs.device("ibsim0");
    sysfs.port("ibsim0", {.umad = "umad0"});
    devices = sys::DeviceList::read();
  }
  ibtest::FakeSysfs sysfs;
  sys::DeviceList devices;
};

}  // namespace

TEST_CASE("specs are written as recorded from python-rdma", "[spec]") {
  const Host host;
  const auto* port = &host.devices.default_end_port();
  CHECK(to_spec(IbDrPath(port)) == "IBDRPath(end_port='ibsim0/1', DLID=0xffff, SLID=0xffff, dqpn=0, drPath=0:, qkey=0x0, sqpn=0)");
  IbPath sa;
  sa.end_port = port;
  sa.dlid = sa.slid = Lid{1};
  sa.sm_key = 1;
  sa.dqpn = sa.sqpn = Qpn{1};
  sa.qkey = path::qp1_qkey;
  sa.packet_life_time = 18;
  CHECK(to_spec(sa) == "IBPath(end_port='ibsim0/1', DLID=1, SLID=1, SMKey=1, dqpn=1, packet_life_time=18, qkey=0x80010000, sqpn=1)");
  IbPath resolved;
  resolved.end_port = port;
  resolved.dgid = Gid::from(link_local_prefix, {0x0002c903000014e1U});
  resolved.sgid = port->default_gid();
  resolved.dlid = Lid{18};
  resolved.slid = Lid{1};
  resolved.mtu = 4;
  resolved.rate = 3;
  resolved.packet_life_time = 18;
  resolved.dqpn = resolved.sqpn = Qpn{0};
  resolved.qkey = 0;
  CHECK(to_spec(resolved) ==
        "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'), DLID=18, MTU=4, SGID=GID('fe80::2:c903:0:1491'), SLID=1, dqpn=0, "
        "packet_life_time=18, qkey=0x0, rate=3, sqpn=0)");
  IbDrPath beyond(port);
  beyond = *beyond.advance(7);
  beyond.dlid = Lid{2};
  beyond.slid = beyond.dr_slid = Lid{1};
  CHECK(to_spec(beyond) == "IBDRPath(end_port='ibsim0/1', DLID=2, SLID=1, dqpn=0, drPath=0:7:, drSLID=1, qkey=0x0, sqpn=0)");
  CHECK(to_spec(IbPath{}) == "IBPath(end_port=None)");
}

TEST_CASE("keys are shown on demand only, but for the SM_Key that everybody knows", "[spec]") {
  IbPath secret;
  secret.m_key = 0x1234;
  secret.sm_key = 5;
  CHECK(to_spec(secret) == "IBPath(end_port=None)");
  CHECK(to_spec(secret, Keys::shown) == "IBPath(end_port=None, MKey=4660, SMKey=5)");
  CHECK(parse_spec(to_spec(secret, Keys::shown)) == Path(secret));
  secret.m_key = secret.sm_key = 1;
  CHECK(to_spec(secret) == "IBPath(end_port=None, SMKey=1)");
  CHECK(parse_spec("IBPath(MKey=0x1234)").ib().m_key == 0x1234);
}

TEST_CASE("a refused text is repeated without its keys", "[spec]") {
  for (const auto& [spec, complaint] : {std::pair{"IBPath(MKey=77x)", "'MKey' is not a valid integer"},
                                        {"IBDRPath(SMKey=0x10000000000000077, drPath=0:)", "'SMKey' is not a valid integer"},
                                        {"IBPath(DLID=2, MKey=77", "Invalid path specification 'IBPath(DLID=2, MKey=<not displayed>'"},
                                        {"IBPath( smkey = 77 ,)", "Invalid path specification 'IBPath( smkey =<not displayed>,)'"},
                                        {"IBPath(pkey=77,MKey 77)", "Invalid path specification 'IBPath(pkey=77,<not displayed>)'"},
                                        {"IBPath(M_Key=77, SL)", "Path attribute 'M_Key' is not known"}}) {
    CAPTURE(spec);
    CHECK_THROWS_WITH(parse_spec(spec), complaint);
  }
  CHECK_THAT(path::parse_target("IBPath[MKey=77]").why, ibtest::starts_with("'IBPath[MKey=<not displayed>' is not a valid end port"));
  CHECK(path::without_secrets("monkey") == "monkey");
  CHECK(path::without_secrets("IBPath(DLID=2, qkey=5)") == "IBPath(DLID=2, qkey=5)");
  CHECK(path::without_secrets("").empty());
}

TEST_CASE("a spec may be written in many ways", "[spec]") {
  const Host host;
  CHECK(parse_spec(" IBPath( DLID = 0x12 , SL=2 ) ").ib().dlid == Lid{18});
  CHECK(parse_spec("IBPath(DGID=fe80::1)").ib().dgid == parse_gid("fe80::1"));
  CHECK(parse_spec("IBPath(DGID=GID(\"fe80::1\"))").ib().dgid == parse_gid("fe80::1"));
  CHECK(parse_spec("IBPath(has_grh=True,hop_limit=64)").ib().has_grh);
  CHECK(parse_spec("IBPath(SL=1,SL=2)").ib().sl == 2);
  CHECK(parse_spec("IBPath(end_port=None, DLID=1)").ib().end_port == nullptr);
  CHECK(parse_spec("IBPath(end_port=\"ibsim0\", DLID=1)", &host.devices).ib().end_port == &host.devices.default_end_port());
  CHECK(parse_spec("IBDRPath(drPath=0:1:2)").directed()->hops == 2);
}

TEST_CASE("a text that is not a spec is refused with python-rdma's words", "[spec]") {
  const Host host;
  CHECK_THROWS_WITH(parse_spec("IBPath(nosuch=1)"), "Path attribute 'nosuch' is not known");
  CHECK_THROWS_WITH(parse_spec("IBPath(drPath=0:1)"), "Path attribute 'drPath' is not known");
  CHECK_THROWS_WITH(parse_spec("IBDRPath(DGID=fe80::1)"), "Path attribute 'DGID' is not known");
  CHECK_THROWS_WITH(parse_spec("IBDRPath(drPath=0:1, has_grh=1)"), "Path attribute 'has_grh' is not known");
  CHECK_THROWS_WITH(parse_spec("NoPath(DLID=1)"), "Invalid path specification 'NoPath(DLID=1)', bad path type");
  CHECK_THROWS_WITH(parse_spec("IBPath(SL=x)"), "'SL'='x' is not a valid integer");
  CHECK_THROWS_WITH(parse_spec("IBPath(SL=16)"), "'SL'='16' is out of range (0 to 15)");
  CHECK_THROWS_WITH(parse_spec("IBPath(DLID=65536)"), "'DLID'='65536' is out of range (0 to 65535)");
  CHECK_THROWS_WITH(parse_spec("IBPath(has_grh=2)"), "'has_grh'='2' is out of range (0 to 1)");
  CHECK_THROWS_WITH(parse_spec("IBPath(DGID=zz)"), "'zz' is not a valid GID");
  CHECK_THROWS_WITH(parse_spec("IBPath(end_port=nosuch, DLID=1)", &host.devices),
                    "Could not find 'nosuch': RDMA device 'nosuch' not found (here: ibsim0/1)");
  CHECK_THROWS_WITH(parse_spec("IBDRPath(drPath=1:2)"), "Invalid DR path specification '1:2'");
  CHECK_THROWS_WITH(parse_spec("IBDRPath(drPath=0)"), "Invalid DR path specification '0'");
  for (const std::string text : {"", "(", ")", "()", "(DLID=1)", "IBPath", "IBPath(", "IBPath()", "IBPath( )", "IBPath(DLID)",
                                 "IBPath(DLID=)", "IBPath(DLID=1", "IBPath(DLID=1,)", "IBPath(,DLID=1)", "IBPath(DLID=1)x"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_spec(text), "Invalid path specification '" + text + "'");
  }
  CHECK_THROWS_AS(parse_spec("IBPath(" + std::string(1000000, 'x') + ")"), UsageError);
}

TEST_CASE("every attribute goes through a spec and back", "[spec]") {
  struct Known {
    std::string_view name;
    std::uint64_t limit;
    bool routed = true, directed = true;
  };
  const auto bits = [](unsigned count) { return (std::uint64_t{1} << count) - 1; };
  const Known all[] = {{"CCKey", UINT64_MAX},
                       {"DLID", bits(16)},
                       {"MKey", UINT64_MAX},
                       {"MTU", bits(6)},
                       {"SL", bits(4)},
                       {"SLID", bits(16)},
                       {"SMKey", UINT64_MAX},
                       {"dack_resp_time", bits(5)},
                       {"dqpn", bits(24)},
                       {"dqpsn", bits(24)},
                       {"drDLID", bits(16), false},
                       {"drSLID", bits(16), false},
                       {"drdatomic", bits(8)},
                       {"flow_label", bits(20)},
                       {"has_grh", 1, true, false},
                       {"hop_limit", bits(8)},
                       {"min_rnr_timer", bits(5)},
                       {"packet_life_time", bits(6)},
                       {"pkey", bits(16)},
                       {"qkey", bits(32)},
                       {"rate", bits(6)},
                       {"resp_time", bits(5)},
                       {"retries", 1000},
                       {"sack_resp_time", bits(5)},
                       {"sqpn", bits(24)},
                       {"sqpsn", bits(24)},
                       {"srdatomic", bits(8)},
                       {"timeout_us", 86'400'000'000},
                       {"traffic_class", bits(8)},
                       {"umad_agent_id", bits(32)}};
  const Host host;
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string routed = "IBPath(end_port=ibsim0", directed = "IBDRPath(end_port=ibsim0, drPath=0:";
    for (auto hops = random() % 64; hops-- > 0;) directed += std::to_string(random() % 255) + ":";
    for (const std::string_view name : {"DGID", "SGID"}) {
      const Gid gid = Gid::from(GidPrefix{random()}, Guid{random() >> (random() % 64)});
      if (random() % 2 == 0) routed += ", " + std::string(name) + "=" + to_text(gid);
    }
    for (const Known& known : all) {
      if (random() % 2 == 0) continue;
      const std::uint64_t value = known.limit == UINT64_MAX ? random() : random() % (known.limit + 1);
      const std::string text = ", " + std::string(known.name) + "=" + std::to_string(value);
      if (known.routed) routed += text;
      if (known.directed) directed += text;
    }
    for (const std::string& text : {routed, directed}) {
      CAPTURE(text);
      const Path path = parse_spec(text + ")", &host.devices);
      REQUIRE(parse_spec(to_spec(path, Keys::shown), &host.devices) == path);
    }
  }
  // What an attribute sets is written under its name.
  for (const Known& known : all) {
    const std::string text =
        (known.routed ? "IBPath(" : "IBDRPath(") + std::string(known.name) + "=" + (known.limit == 1 ? "True" : "7") + ")";
    CAPTURE(text);
    CHECK(to_spec(parse_spec(text), Keys::shown).find(std::string(known.name) + "=") != std::string::npos);
  }
}

}  // namespace path_spec_tests
