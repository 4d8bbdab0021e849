// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets as people write them. The error texts are those of python-rdma where it has one.
#include "path/parse.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"

namespace path_parse_tests {

using ib::path::Form;
using ib::path::parse_target;
using ib::path::ParseOptions;
using ib::path::Path;

namespace {

/// A host with two InfiniBand devices, the second on a subnet with its own prefix.
struct Host {
  Host() {
    sysfs.device("ibsim0");
    sysfs.port("ibsim0", {.umad = "umad0"});
    sysfs.device("mlx5_1", "0002:c903:0000:2000");
    sysfs.port("mlx5_1", {.number = 1, .gid = "2001:db8::2:c903:0:2001", .umad = "umad1"});
    sysfs.port("mlx5_1", {.number = 2, .state = "1: DOWN", .gid = "2001:db9::2:c903:0:2002", .umad = "umad2"});
    devices = ib::sys::DeviceList::read();
    options.devices = &devices;
    options.default_end_port = &devices.find_end_port("ibsim0/1");
  }
  Path parse(std::string_view text, Form form = Form::any) const {
    ParseOptions with_form = options;
    with_form.form = form;
    ib::path::ParsedTarget parsed = parse_target(text, with_form);
    if (!parsed.path) throw ib::UsageError(std::move(parsed.why));
    return *parsed.path;
  }
  std::string spec(std::string_view text, Form form = Form::any) const { return to_spec(parse(text, form)); }

  ibtest::FakeSysfs sysfs;
  ib::sys::DeviceList devices;
  ParseOptions options;
};

constexpr const char* dr_tail = ", qkey=0x0, sqpn=0)";

std::string dr(const std::string& route) {
  return "IBDRPath(end_port='ibsim0/1', DLID=0xffff, SLID=0xffff, dqpn=0, drPath=" + route + dr_tail;
}

}  // namespace

TEST_CASE("every form of a target is read", "[path]") {
  const Host host;
  CHECK(host.spec("12") == "IBPath(end_port='ibsim0/1', DLID=12)");
  CHECK(host.spec("0xc") == "IBPath(end_port='ibsim0/1', DLID=12)");
  CHECK(host.spec("49151") == "IBPath(end_port='ibsim0/1', DLID=49151)");
  CHECK(host.spec("fe80::2:c903:0:1491") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:1491'))");
  CHECK(host.spec("fe80::0002:c903:0000:14e1%ibsim0/1") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("fe80::1%mlx5_1/2") == "IBPath(end_port='mlx5_1/2', DGID=GID('fe80::1'))");
  CHECK(host.spec("fe80::1%0002:c903:0000:1491") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::1'))");
  CHECK(host.spec("0002:c903:0000:14e1") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("0002c903000014e1") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("0x0002c903000014e1") == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  for (const char* text : {"00:02:c9:03:00:00:14:e1", "s-0002c903000014e1", "H-0002:c903:0000:14e1", "R-0x0002c903000014e1"})
    CHECK(host.spec(text) == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("0,") == dr("0:"));
  CHECK(host.spec("0,1") == dr("0:1:"));
  CHECK(host.spec("0,1,7,2,") == dr("0:1:7:2:"));
  CHECK(host.spec("0, 1") == dr("0:1:"));
  CHECK(host.spec("0,254") == dr("0:254:"));
  CHECK(host.spec("IBPath(DLID=2,SL=2)") == "IBPath(end_port='ibsim0/1', DLID=2, SL=2, SLID=18)");
  CHECK(host.spec("IBDRPath(drPath=0:1)") == dr("0:1:"));
  CHECK(host.spec("IBPath(end_port=mlx5_1/2, DLID=2)") == "IBPath(end_port='mlx5_1/2', DLID=2)");
}

TEST_CASE("options say what a target is", "[path]") {
  const Host host;
  CHECK(host.spec("0", Form::direct) == dr("0:"));
  CHECK(host.spec("0,1", Form::direct) == dr("0:1:"));
  CHECK(host.spec("18", Form::guid) == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::18'))");
  CHECK(host.spec("0x0002c903000014e1", Form::guid) == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("0002:c903:0:14e1", Form::guid) == "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'))");
  CHECK(host.spec("18", Form::lid) == "IBPath(end_port='ibsim0/1', DLID=18)");
  CHECK_THROWS_WITH(host.parse("18", Form::direct), "Invalid DR path specification '18,'");
  CHECK_THROWS_WITH(host.parse("fe80::1", Form::direct), "Not a directed route");
  CHECK_THROWS_WITH(host.parse("0002:c903:0000:14e1", Form::lid), "Not a LID");
  CHECK_THROWS_WITH(host.parse("0,1", Form::guid), "Not a GUID");
}

TEST_CASE("a text that is not a target is refused with the reason", "[path]") {
  const Host host;
  for (const std::string text : {"zzz", "1:2", "-1", "", " ", "1 2", "fe80::1%a%b", "0x12345678901234567", "0x", "1.5", "::g"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(host.parse(text), "'" + text + "' is not a valid end port address (GID, port GUID or LID)");
  }
  for (const std::string text : {"70000", "0", "65535", "0xc000"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(host.parse(text), "'" + text + "' cannot be the LID of a port: those are 1 to 49151");
  }
  for (const std::string text :
       {"1,2", "0,300", "0,255", "0,x", ",", "0,,1", "0,1,,", "0,-1", "0,1.5", "0,99999999999999999999999", "0,1:2"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(host.parse(text), "Invalid DR path specification '" + text + "'");
  }
  CHECK_THROWS_WITH(host.parse("zzz%ibsim0/1"), "'zzz' is not a valid GID");
  CHECK_THROWS_WITH(host.parse("fe80::1%nosuch"),
                    "Could not find 'nosuch': RDMA device 'nosuch' not found (here: ibsim0/1, mlx5_1/1, mlx5_1/2)");
  CHECK_THROWS_WITH(host.parse("\x1b[2J"), "'\\x1b[2J' is not a valid end port address (GID, port GUID or LID)");
  CHECK(parse_target("fe80::1%ibsim0").why == "Could not find 'ibsim0': No InfiniBand device here");
  CHECK_THROWS_AS(host.parse("zzz"), ib::UsageError);
}

TEST_CASE("a directed route has at most 63 hops", "[path]") {
  const Host host;
  std::string route = "0";
  for (int i = 0; i < 63; ++i) route += ",1";
  const auto path = host.parse(route);
  REQUIRE(path.directed() != nullptr);
  CHECK(path.directed()->hops == 63);
  CHECK_FALSE(path.directed()->advance(1));
  CHECK_THROWS_AS(host.parse(route + ",1"), ib::UsageError);
  CHECK_THROWS_AS(host.parse("0," + std::string(100000, ',')), ib::UsageError);
}

TEST_CASE("a target may choose the end port", "[path]") {
  Host host;
  const auto& ibsim0 = host.devices.find_end_port("ibsim0/1");
  const auto& mlx1 = host.devices.find_end_port("mlx5_1/1");
  const auto& mlx2 = host.devices.find_end_port("mlx5_1/2");
  CHECK(host.parse("2001:db8::5").ib().end_port == &mlx1);
  CHECK(host.parse("2001:db9::5").ib().end_port == &mlx2);
  CHECK(host.parse("2001:dba::5").ib().end_port == &ibsim0);
  CHECK(host.parse("fe80::5").ib().end_port == &ibsim0);
  SECTION("within the required device") {
    host.options.require_device = mlx1.device;
    CHECK_THROWS_WITH(host.parse("fe80::1%ibsim0/1"), "Path requires device mlx5_1, got ibsim0/1");
    CHECK_THROWS_WITH(host.parse("IBPath(end_port='ibsim0/1', DLID=1)"), "Path requires device mlx5_1, got ibsim0/1");
    CHECK(host.parse("fe80::1%mlx5_1/2").ib().end_port == &mlx2);
  }
  SECTION("unless one is required") {
    host.options.require_end_port = &mlx2;
    CHECK(host.parse("12").ib().end_port == &mlx2);
    CHECK(host.parse("2001:db8::5").ib().end_port == &mlx2);
    CHECK_THROWS_WITH(host.parse("fe80::1%mlx5_1/1"), "Path requires end port mlx5_1/2, got mlx5_1/1");
  }
}

}  // namespace path_parse_tests
