// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What umad says when it can not be used. Using it is for the fabric tests.
#include "sys/umad_port.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"

namespace sys_umad_port_tests {

using ib::sys::UmadPort;

TEST_CASE("a missing umad device is named, with the remedy", "[sys]") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("good");
  sysfs.port("good", {.umad = "umad4294967295"});
  const auto list = ib::sys::DeviceList::read();
  try {
    const UmadPort port(list.default_end_port(), true);
    FAIL("opened a device that can not be");
  } catch (const ib::SysError& error) {
    CHECK(error.code() == ENOENT);
    CHECK(error.message() == "open /dev/infiniband/umad4294967295: No such file or directory");
    CHECK_THAT(error.what(), ibtest::contains("modprobe ib_umad"));
  }
}

TEST_CASE("the kernel module is named only where it is not loaded", "[sys]") {
  ibtest::FakeSysfs sysfs;
  sysfs.write("class/infiniband_mad/abi_version", "5\n");
  sysfs.device("good");
  sysfs.port("good", {.umad = "umad4294967295"});
  sysfs.device("bare", "::2");
  sysfs.port("bare", {.gid = "fe80::6"});
  const auto list = ib::sys::DeviceList::read();
  try {
    const UmadPort port(list.find_end_port("good"), true);
    FAIL("opened a device that can not be");
  } catch (const ib::SysError& error) {
    CHECK_THAT(error.what(), ibtest::starts_with("There is no /dev/infiniband/umad4294967295, though the kernel module ib_umad is loaded"));
    CHECK_THAT(error.what(), !ibtest::contains("modprobe"));
  }
  CHECK_THROWS_WITH(umad_half(list.find_end_port("bare"), true),
                    ibtest::starts_with("bare/1 has no umad device, though the kernel module ib_umad is loaded"));
}

TEST_CASE("a port of another kind is called by its kind", "[sys]") {
  ibtest::FakeSysfs sysfs;
  sysfs.write("class/infiniband_mad/abi_version", "5\n");
  sysfs.device("roce", "::1");
  sysfs.port("roce", {.gid = "fe80::5", .link_layer = "Ethernet"});
  sysfs.device("efa", "::2", "7: unspecified");
  sysfs.port("efa", {.gid = "fe80::6", .link_layer = "Unspecified"});
  sysfs.device("rnic", "::3", "4: RNIC");
  sysfs.port("rnic", {.gid = "fe80::7", .link_layer = "Ethernet"});
  const auto list = ib::sys::DeviceList::read();
  const auto half = [&](std::string_view port, bool smp) { return umad_half(list.find_end_port(port), smp).umad; };
  CHECK_THROWS_WITH(half("roce", true), ibtest::starts_with("roce/1 is a RoCE port (Ethernet), which has no SMPs"));
  for (const bool smp : {false, true}) {
    CHECK_THROWS_WITH(half("efa", smp),
                      ibtest::starts_with("efa/1 is not an InfiniBand port (its link layer is 'Unspecified', as with EFA)"));
    CHECK_THROWS_WITH(half("efa", smp), !ibtest::contains("modprobe"));
  }
  CHECK_THROWS_WITH(half("rnic", true), ibtest::starts_with("rnic/1 is an iWARP port"));
}

TEST_CASE("another ABI is refused", "[sys]") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("good");
  sysfs.port("good", {.umad = "umad0"});
  sysfs.write("class/infiniband_mad/abi_version", "6\n");
  const auto list = ib::sys::DeviceList::read();
  CHECK_THROWS_WITH(UmadPort(list.default_end_port(), false), "The kernel's umad has ABI version 6, this program knows 5");
}

TEST_CASE("a port says why it has no umad device", "[sys]") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("good");
  sysfs.port("good", {.umad = "umad3"});
  sysfs.device("roce", "::1");
  sysfs.port("roce", {.gid = "fe80::5", .link_layer = "Ethernet", .umad = "umad4"});
  sysfs.device("bare", "::2");
  sysfs.port("bare", {.gid = "fe80::6"});
  sysfs.device("gsi", "::3");
  sysfs.port("gsi", {.gid = "fe80::7", .capability_mask = 0x400, .umad = "umad5"});
  const auto list = ib::sys::DeviceList::read();
  const auto name = [&](std::string_view port, bool smp) { return umad_half(list.find_end_port(port), smp).umad; };
  CHECK(name("good", true) == "umad3");
  CHECK(name("roce", false) == "umad4");
  CHECK(name("gsi", false) == "umad5");
  CHECK_THROWS_WITH(name("roce", true), ibtest::starts_with("roce/1 is a RoCE port (Ethernet), which has no SMPs"));
  CHECK_THROWS_WITH(name("bare", true), "bare/1 has no umad device: load the kernel module ib_umad (modprobe ib_umad)");
  CHECK_THROWS_WITH(name("bare", false), "bare/1 has no umad device: load the kernel module ib_umad (modprobe ib_umad)");
  CHECK_THROWS_WITH(name("gsi", true), "gsi/1 cannot send SMPs, and no other device of this host reaches the port's QP0");
  CHECK_THROWS_WITH(open_issm(list.find_end_port("good")), "good/1 has no issm device: load the kernel module ib_umad (modprobe ib_umad)");
}

}  // namespace sys_umad_port_tests
