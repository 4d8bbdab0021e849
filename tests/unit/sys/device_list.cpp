// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Device lists out of fake sysfs trees, ordinary and hostile.
#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"
#include "support/temporary_directory.hpp"
#include "sys/device.hpp"

namespace sys_device_list_tests {

using ib::sys::DeviceList;
using ib::sys::LinkLayer;
using ibtest::FakeSysfs;

TEST_CASE("an ordinary device is read whole", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("mlx4_0");
  sysfs.port("mlx4_0", {.umad = "umad0"});
  sysfs.write("class/infiniband_mad/issm0/ibdev", "mlx4_0\n");
  sysfs.write("class/infiniband_mad/issm0/port", "1\n");
  sysfs.write("class/infiniband_mad/abi_version", "5\n");
  sysfs.write("class/infiniband_verbs/uverbs7/ibdev", "mlx4_0\n");
  const auto list = DeviceList::read();
  REQUIRE(list.devices().size() == 1);
  const auto& device = *list.devices()[0];
  CHECK(device.name == "mlx4_0");
  CHECK(device.ca_type == "MT4099");
  CHECK(device.firmware == "2.42.5000");
  CHECK(device.hardware == "0");
  CHECK(device.board_id == "MT_1100120019");
  CHECK(device.node_description == "node01 mlx4_0");
  CHECK(device.node_type == 1);
  CHECK(device.node_guid.value == 0x0002c90300001490U);
  CHECK(device.system_image_guid.value == 0x0002c90300001493U);
  CHECK(device.uverbs == "uverbs7");
  REQUIRE(device.ports.size() == 1);
  const auto& port = *device.ports[0];
  CHECK(port.name() == "mlx4_0/1");
  CHECK(port.state == 4);
  CHECK(port.state_text == "ACTIVE");
  CHECK(port.phys_state == 5);
  CHECK(port.phys_state_text == "LinkUp");
  CHECK(port.rate_text == "40 Gb/sec (4X QDR)");
  CHECK(port.lid.value == 18);
  CHECK(port.sm_lid.value == 1);
  CHECK(port.lmc == 2);
  CHECK(port.sm_sl == 3);
  CHECK(port.capability_mask == (0x02514868U & ~0x400U));
  CHECK(port.link_layer == LinkLayer::infiniband);
  CHECK(port.port_guid().value == 0x0002c90300001491U);
  REQUIRE(port.pkeys.size() == 3);
  CHECK(port.pkeys[1].value == 0x8001);
  CHECK(port.umad == "umad0");
  CHECK(port.issm == "issm0");
  CHECK(port.umad_of(true) == "umad0");
  CHECK(port.umad_of(false) == "umad0");
}

TEST_CASE("a host without RDMA has an empty list and a clear error", "[sys]") {
  FakeSysfs sysfs;
  const auto list = DeviceList::read();
  CHECK(list.devices().empty());
  CHECK_THROWS_WITH(list.default_end_port(), "No InfiniBand device here (ibtool --from FILE works without)");
  CHECK_THROWS_WITH(list.find_device("mlx4_0"), "No InfiniBand device here (ibtool --from FILE works without)");
  CHECK_THROWS_WITH(list.find_end_port("mlx4_0/1"), "No InfiniBand device here (ibtool --from FILE works without)");
  CHECK_THROWS_WITH(list.select({}, "1"), "No InfiniBand device here (ibtool --from FILE works without)");
}

TEST_CASE("devices and ports are unlimited, and names are in natural order", "[sys]") {
  FakeSysfs sysfs;
  // More than the 32 devices and 64 umad numbers that libibumad knows, with names longer than its 19 characters.
  for (int i = 0; i < 70; ++i) {
    const auto name = fmt::format("a_device_with_a_very_long_name_{}", i);
    sysfs.write("class/infiniband/" + name + "/node_type", "1: CA\n");
    sysfs.write("class/infiniband/" + name + "/ports/1/gids/0", fmt::format("fe80::2:c903:2:{:x}\n", i));
    sysfs.write(fmt::format("class/infiniband_mad/umad{}/ibdev", i), name);
    sysfs.write(fmt::format("class/infiniband_mad/umad{}/port", i), "1");
  }
  sysfs.write("class/infiniband/zz/node_type", "2: SWITCH\n");
  for (unsigned i = 0; i < 260; ++i) sysfs.write(fmt::format("class/infiniband/zz/ports/{}/state", i), "1: DOWN\n");
  const auto list = DeviceList::read();
  REQUIRE(list.devices().size() == 71);
  CHECK(list.devices()[2]->name.ends_with("_2"));
  CHECK(list.devices()[10]->name.ends_with("_10"));
  CHECK(list.devices()[69]->ports.at(0)->umad_of(false) == "umad69");
  CHECK(list.find_end_port("fe80::2:c903:2:42").device->name.ends_with("_66"));
  REQUIRE(list.devices()[70]->ports.size() == 260);
  CHECK(list.devices()[70]->ports[259]->number == 259);
}

TEST_CASE("the default end port is an active InfiniBand port", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("a_roce");
  sysfs.port("a_roce", {.gid = "fe80::2:c9ff:fe00:1", .link_layer = "Ethernet", .umad = "umad0"});
  sysfs.device("b_ib", "0002:c903:0000:2000");
  SECTION("mixed with RoCE, even when the InfiniBand ports are down") {
    sysfs.port("b_ib", {.number = 1, .state = "1: DOWN", .gid = "fe80::2001", .umad = "umad1"});
    sysfs.port("b_ib", {.number = 2, .state = "1: DOWN", .gid = "fe80::2002", .umad = "umad2"});
    const auto list = DeviceList::read();
    CHECK(list.default_end_port().name() == "b_ib/1");
    CHECK(list.find_end_port("a_roce").umad_of(true).empty());
    CHECK(list.find_end_port("a_roce").umad_of(false) == "umad0");
    CHECK(list.select({}, "2").name() == "b_ib/2");
    CHECK(list.select("a_roce", {}).name() == "a_roce/1");
  }
  SECTION("not one that is down, and an active one before an initialized one") {
    sysfs.port("b_ib", {.number = 1, .state = "1: DOWN", .gid = "fe80::2001", .umad = "umad1"});
    sysfs.port("b_ib", {.number = 2, .state = "2: INIT", .gid = "fe80::2002", .umad = "umad2"});
    sysfs.device("c_ib", "0002:c903:0000:3000");
    CHECK(DeviceList::read().default_end_port().name() == "b_ib/2");
    sysfs.port("c_ib", {.number = 1, .state = "4: ACTIVE", .gid = "fe80::3001", .umad = "umad3"});
    CHECK(DeviceList::read().default_end_port().name() == "c_ib/1");
    CHECK(DeviceList::read().select({}, "1").name() == "c_ib/1");
  }
  SECTION("and a RoCE port when there is nothing else") { CHECK(DeviceList::read().default_end_port().name() == "a_roce/1"); }
}

TEST_CASE("the default end port is the first that can be used", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("a", "0002:c903:0000:1000");
  sysfs.port("a", {.gid = "fe80::1"});  // without umad
  sysfs.device("b", "0002:c903:0000:2000");
  sysfs.port("b", {.gid = "fe80::2", .umad = "umad0"});
  sysfs.device("c", "0002:c903:0000:3000");
  sysfs.port("c", {.gid = "fe80::3", .umad = "umad1"});
  CHECK(DeviceList::read().default_end_port().name() == "b/1");
  CHECK(DeviceList::read().select("a", {}).name() == "a/1");
  sysfs.port("b", {.state = "1: DOWN", .gid = "fe80::2", .umad = "umad0"});
  CHECK(DeviceList::read().default_end_port().name() == "c/1");
  sysfs.port("c", {.state = "4: ACTIVE", .phys_state = "3: Disabled", .gid = "fe80::3", .umad = "umad1"});
  sysfs.port("b", {.state = "3: ARMED", .gid = "fe80::2", .umad = "umad0"});
  CHECK(DeviceList::read().default_end_port().name() == "b/1");
}

TEST_CASE("a umad device whose file was not passed into a container cannot be used", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("a", "0002:c903:0000:1000");
  sysfs.port("a", {.gid = "fe80::1", .umad = "umad0"});
  sysfs.device("b", "0002:c903:0000:2000");
  sysfs.port("b", {.gid = "fe80::2", .umad = "umad1"});
  const ibtest::TemporaryDirectory files;
  CHECK(DeviceList::read(files.file("")).default_end_port().name() == "a/1");  // files of none, as where umad is simulated
  std::ofstream(files.file("umad1")).put('\n');
  CHECK(DeviceList::read(files.file("")).default_end_port().name() == "b/1");
}

TEST_CASE("the MADs that pass a port follow from its state", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("x");
  const auto passes = [&](FakeSysfs::Port port) {
    sysfs.port("x", port);
    return ib::sys::passage_of(DeviceList::read().find_end_port("x/1"));
  };
  using ib::sys::Passage;
  CHECK(passes({.state = "1: DOWN", .phys_state = "2: Polling"}) == Passage::nothing);
  CHECK(passes({.state = "2: INIT", .phys_state = "3: Disabled"}) == Passage::nothing);
  CHECK(passes({.state = "2: INIT"}) == Passage::smps);
  CHECK(passes({.state = "3: ARMED"}) == Passage::smps);
  CHECK(passes({}) == Passage::everything);
  CHECK(passes({.state = "5: ACTIVE_DEFER"}) == Passage::everything);
  CHECK(passes({.state = "garbage"}) == Passage::everything);
  CHECK(passes({.state = "1: DOWN", .link_layer = "Ethernet"}) == Passage::everything);
  sysfs.port("x", {.state = "2: INIT", .phys_state = "5: LinkUp"});
  CHECK(ib::sys::state_clause(DeviceList::read().find_end_port("x/1")) == "x/1 is Initialize (physical state Link UP)");
  sysfs.device("x", "0002:c903:0000:1490", "2: switch");
  CHECK(passes({.state = "1: DOWN"}) == Passage::everything);
}

TEST_CASE("SMPs of a planarized HCA go through the first plane that is up", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("mlx5_0");
  sysfs.port("mlx5_0", {.gid = "fe80::a1", .capability_mask = 0x400, .umad = "umad0"});
  sysfs.device("smi1");
  sysfs.port("smi1", {.number = 1, .state = "1: DOWN", .phys_state = "2: Polling", .gid = "fe80::a1", .umad = "umad1"});
  sysfs.port("smi1", {.number = 2, .gid = "fe80::a1", .umad = "umad2"});
  sysfs.port("smi1", {.number = 3, .gid = "fe80::a1", .umad = "umad3"});
  CHECK(DeviceList::read().find_end_port("mlx5_0/1").smi_port->name() == "smi1/2");
  CHECK(DeviceList::read().default_end_port().name() == "mlx5_0/1");
  sysfs.port("smi1", {.number = 1, .gid = "fe80::a1", .umad = "umad1"});
  CHECK(DeviceList::read().find_end_port("mlx5_0/1").smi_port->name() == "smi1/1");
}

TEST_CASE("libibumad's end port belongs to the first device in the kernel's order", "[sys]") {
  FakeSysfs sysfs;
  for (const char* name : {"a", "b", "c"}) sysfs.device(name);
  const auto set = [&](const std::string& device, const std::string& state, const std::string& phys_state, unsigned number = 1) {
    sysfs.port(device, {.number = number, .state = state, .umad = device + std::to_string(number)});
    sysfs.write("class/infiniband/" + device + "/ports/" + std::to_string(number) + "/phys_state", phys_state + "\n");
  };
  const auto chosen = [](std::string_view order, unsigned number = 0, const char* device = nullptr) {
    DeviceList list = DeviceList::read();
    for (const auto& at : list.devices()) at->place = static_cast<unsigned>(order.find(at->name));
    return list.libibumad_port(device != nullptr ? &list.find_device(device) : nullptr, number).name();
  };
  SECTION("with an active InfiniBand port, before all others") {
    for (const char* name : {"a", "b", "c"}) set(name, "4: ACTIVE", "5: LinkUp");
    CHECK(chosen("cba") == "c/1");
    CHECK(chosen("bca", 1) == "b/1");
    set("c", "2: INIT", "5: LinkUp");
    CHECK(chosen("cba") == "b/1");
    set("c", "4: ACTIVE", "5: LinkUp", 2);
    CHECK(chosen("cba") == "c/2");
    CHECK(chosen("bca", 2) == "c/2");
    CHECK(chosen("abc", 0, "c") == "c/2");
  }
  SECTION("else the first with any port that is not disabled") {
    set("a", "1: DOWN", "3: Disabled");
    set("b", "1: DOWN", "2: Polling");
    set("c", "2: INIT", "5: LinkUp");
    CHECK(chosen("abc") == "b/1");
    CHECK(chosen("cba", 1) == "c/1");
    sysfs.port("a", {.number = 2, .state = "4: ACTIVE", .link_layer = "Ethernet", .umad = "a2"});
    CHECK(chosen("abc") == "a/2");
    CHECK_THROWS_AS(chosen("abc", 2, "c"), ib::UsageError);
  }
  SECTION("and none where all are disabled, or none has the number") {
    for (const char* name : {"a", "b", "c"}) set(name, "1: DOWN", "3: Disabled");
    CHECK_THROWS_AS(chosen("abc"), ib::UsageError);
    CHECK_THROWS_AS(chosen("abc", 1), ib::UsageError);
    CHECK_THROWS_AS(chosen("abc", 7), ib::UsageError);
  }
  SECTION("a device with a port 10 is not considered") {
    set("a", "4: ACTIVE", "5: LinkUp");
    set("a", "1: DOWN", "2: Polling", 10);
    set("b", "2: INIT", "5: LinkUp");
    CHECK(chosen("abc") == "b/1");
  }
}

TEST_CASE("a device and an end port have many names", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("ibsim0");
  sysfs.port("ibsim0", {.link_layer = "", .umad = "umad0"});
  sysfs.write("class/infiniband/ibsim0/ports/1/gids/3", "2001:db8::2:c903:0:1491\n");
  const auto list = DeviceList::read();
  const auto* device = list.devices()[0].get();
  const auto* port = device->ports[0].get();
  for (const auto* spec : {"ibsim0", "0002:c903:0000:1490", "2:c903:0:1490", "0002c90300001490", "0x2c90300001490"}) {
    CAPTURE(spec);
    CHECK(&list.find_device(spec) == device);
  }
  for (const auto* spec :
       {"ibsim0", "ibsim0/1", "0002:c903:0000:1491", "0x0002c90300001491", "fe80::2:c903:0:1491", "2001:db8::2:c903:0:1491"}) {
    CAPTURE(spec);
    CHECK(&list.find_end_port(spec) == port);
    CHECK(&list.select({}, spec) == port);
    CHECK(&list.select("ibsim0", spec) == port);
    CHECK(&list.select("0002:c903:0000:1490", spec) == port);
  }
  CHECK(&list.find_end_port("1", device) == port);
  REQUIRE(port->gids.size() == 4);
  CHECK(port->gids[1] == ib::Gid{});
}

TEST_CASE("the error for a missing port lists the existing ports", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("ibsim0");
  sysfs.port("ibsim0", {.link_layer = "", .umad = "umad0"});
  sysfs.device("other", "0002:c903:0000:2000");
  sysfs.port("other", {.state = "1: DOWN", .gid = "fe80::5"});
  const auto list = DeviceList::read();
  const std::string here = " (here: ibsim0/1, other/1)";
  CHECK_THROWS_WITH(list.find_device("nosuch"), "RDMA device 'nosuch' not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("nosuch"), "RDMA device 'nosuch' not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("ibsim0/2"), "RDMA device 'ibsim0' port 2 not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("ibsim0/x"), "Invalid end port specification 'ibsim0/x'" + here);
  CHECK_THROWS_WITH(list.find_end_port("ibsim0/1/2"), "Invalid end port specification 'ibsim0/1/2'" + here);
  CHECK_THROWS_WITH(list.find_end_port("0002:c903:0000:1490/1"), "RDMA device '0002:c903:0000:1490/1' not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("fe80::1"), "RDMA end port GUID('0000:0000:0000:0001') not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("2::1"), "RDMA end port GID('2::1') not found" + here);
  CHECK_THROWS_WITH(list.find_end_port("fe80::"), "RDMA end port GUID('0000:0000:0000:0000') not found" + here);
  CHECK_THROWS_WITH(list.select({}, "9"), "RDMA device 'ibsim0' port 9 not found" + here);
  CHECK_THROWS_WITH(list.select({}, "nosuch"), "Invalid end port specification 'ibsim0/nosuch'" + here);
  CHECK_THROWS_WITH(list.select("ibsim0", "2"), "RDMA device 'ibsim0' port 2 not found" + here);
  CHECK_THROWS_WITH(list.select("ibsim0", "other/1"), "End port other/1 is not a port of RDMA device 'ibsim0'" + here);
  CHECK_THROWS_AS(list.select("nosuch", "2"), ib::UsageError);
}

TEST_CASE("a planarized HCA sends SMPs on one half and GMPs on the other", "[sys]") {
  FakeSysfs sysfs;
  // The names sort against the roles, so that order can not be what pairs them.
  sysfs.device("mlx5_0", "0002:c903:0000:1490");
  sysfs.port("mlx5_0", {.gid = "fe80::a1", .umad = "umad0"});
  sysfs.device("mlx5_1", "0002:c903:0000:1490");
  sysfs.port("mlx5_1", {.number = 1, .gid = "fe80::a1", .capability_mask = 0x400, .umad = "umad1"});
  sysfs.port("mlx5_1", {.number = 2, .gid = "fe80::a2", .capability_mask = 0x400, .umad = "umad2"});
  sysfs.device("mlx5_2", "0002:c903:0000:1490");
  sysfs.port("mlx5_2", {.gid = "fe80::a2", .umad = "umad3"});
  sysfs.device("mlx5_3", "0002:c903:0000:9999");
  sysfs.port("mlx5_3", {.number = 1, .gid = "fe80::b1", .umad = "umad4"});
  sysfs.port("mlx5_3", {.number = 2, .gid = "fe80::b2", .capability_mask = 0x400, .umad = "umad5"});
  const auto list = DeviceList::read();
  const auto umads = [&](std::string_view name) {
    const auto& port = list.find_end_port(name);
    return port.umad_of(true) + " " + port.umad_of(false);
  };
  CHECK(umads("mlx5_0/1") == "umad0 umad1");
  CHECK(umads("mlx5_1/1") == "umad0 umad1");
  CHECK(umads("mlx5_1/2") == "umad3 umad2");
  CHECK(umads("mlx5_2/1") == "umad3 umad2");
  CHECK(umads("mlx5_3/1") == "umad4 umad4");
  CHECK(umads("mlx5_3/2") == " umad5");
  CHECK(list.find_end_port("mlx5_3/2").umad_of(true).empty());
  CHECK(list.find_end_port("mlx5_1/2").smi_port->name() == "mlx5_2/1");
  CHECK(list.default_end_port().name() == "mlx5_1/1");
  CHECK(list.find_end_port("fe80::a2").name() == "mlx5_1/2");
}

TEST_CASE("hostile sysfs content does no harm", "[sys]") {
  FakeSysfs sysfs;
  sysfs.device("good");
  sysfs.port("good", {.umad = "umad0"});
  SECTION("garbage in every attribute") {
    const std::string garbage =
        GENERATE(std::string(), std::string("\n"), std::string("\0\0\0", 3), std::string("-1"), std::string("4:"), std::string(":"),
                 std::string("99999999999999999999999"), std::string(100000, 'x'), std::string(100000, '9'),
                 std::string("\xff\xfe\x80: \x1b[2J"), std::string("0x"), std::string("1:2:3:4:5:6:7:8:9"));
    const std::string dir = "class/infiniband/good/";
    for (const auto* name : {"node_type", "hca_type", "fw_ver", "hw_rev", "board_id", "node_desc", "node_guid", "sys_image_guid"})
      sysfs.write(dir + name, garbage);
    for (const auto* name :
         {"state", "phys_state", "rate", "lid", "sm_lid", "lid_mask_count", "sm_sl", "cap_mask", "link_layer", "gids/0", "pkeys/0"}) {
      sysfs.write(dir + "ports/1/" + name, garbage);
    }
    sysfs.write("class/infiniband_mad/umad0/port", garbage);
    const auto list = DeviceList::read();
    REQUIRE(list.devices().size() == 1);
    const auto& port = *list.devices()[0]->ports.at(0);
    CHECK(port.state <= 255);
    CHECK(port.rate_text.size() <= 4096);
    CHECK(port.lmc <= 7);
    CHECK(port.sm_sl <= 15);
    CHECK(port.umad.empty());
    CHECK(&list.default_end_port() == &port);
  }
  SECTION("odd names of ports, indexes and services") {
    for (const auto* name : {"x", "-1", "01", "99999999999", "1x", " 1"})
      sysfs.write(fmt::format("class/infiniband/good/ports/{}/state", name), "4: ACTIVE\n");
    for (const auto* name : {"x", "-1", "65536", "99999999999999999999", "4294967296"}) {
      sysfs.write(fmt::format("class/infiniband/good/ports/1/gids/{}", name), "fe80::1\n");
    }
    sysfs.write("class/infiniband_mad/umadx/ibdev", "nosuch\n");
    sysfs.write("class/infiniband_mad/umad1", "a file, not a directory");
    const auto list = DeviceList::read();
    CHECK(list.devices()[0]->ports.size() == 1);
    CHECK(list.devices()[0]->ports[0]->gids.size() == 1);
  }
  SECTION("things that are not what they should be") {
    sysfs.write("class/infiniband/plain_file", "hello");
    sysfs.write("class/infiniband/empty/unrelated", "");
    sysfs.write("class/infiniband/dirs/node_type/inside", "");
    sysfs.write("class/infiniband/dirs/ports/1/state/inside", "");
    REQUIRE(::mkfifo((sysfs.root() / "class/infiniband/empty/node_guid").c_str(), 0600) == 0);
    std::filesystem::create_symlink("loop", sysfs.root() / "class/infiniband/loop");
    const auto list = DeviceList::read();
    CHECK(list.devices().size() == 5);
    CHECK(list.default_end_port().name() == "good/1");
    CHECK_THROWS_WITH(list.find_end_port("empty"), ibtest::contains("RDMA device 'empty' has no ports (here: "));
    CHECK_THROWS_AS(list.select("plain_file", {}), ib::UsageError);
  }
}

}  // namespace sys_device_list_tests
