// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables of GIDs and P_Keys are read when they are first used, and once.
#include "sys/device.hpp"

#include "iba/text.hpp"
#include "iba/types.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"

namespace sys_port_table_tests {

using ib::Gid;
using ib::Pkey;
using ib::sys::PortTable;
using ibtest::FakeSysfs;

namespace {

PortTable<Pkey> pkeys(const FakeSysfs& sysfs) { return PortTable<Pkey>::in_directory(sysfs.root() / "pkeys/"); }

}  // namespace

TEST_CASE("attributes are read at their first use, and then kept", "[sys]") {
  FakeSysfs sysfs;
  sysfs.write("pkeys/0", "0x8001\n");
  sysfs.write("pkeys/1", "0x8002\n");
  const PortTable<Pkey> table = pkeys(sysfs);
  sysfs.write("pkeys/0", "0x8003\n");
  CHECK_FALSE(table.empty());
  CHECK(table.first() == Pkey{0x8003});
  sysfs.write("pkeys/0", "0x8004\n");
  sysfs.write("pkeys/1", "0x8005\n");
  CHECK(table.entries() == std::vector{Pkey{0x8003}, Pkey{0x8005}});
  sysfs.write("pkeys/1", "0x8006\n");
  sysfs.write("pkeys/2", "0x8007\n");
  CHECK(table.size() == 2);
  CHECK(table[1] == Pkey{0x8005});
  CHECK(table.first() == Pkey{0x8003});
}

TEST_CASE("a table has the length of its last index, and zeros where nothing can be read", "[sys]") {
  FakeSysfs sysfs;
  sysfs.write("pkeys/3", "0xffff\n");
  sysfs.write("pkeys/1", "no number\n");
  sysfs.write("pkeys/02", "0x8001\n");
  CHECK(pkeys(sysfs).entries() == std::vector{Pkey{}, Pkey{}, Pkey{}, Pkey{0xffff}});
  CHECK(pkeys(sysfs).first() == Pkey{});
  CHECK_FALSE(pkeys(sysfs).empty());
  CHECK_FALSE(pkeys(sysfs).entries().empty());
}

TEST_CASE("a directory without indexes, and none at all, are an empty table", "[sys]") {
  FakeSysfs sysfs;
  CHECK(pkeys(sysfs).empty());
  CHECK(pkeys(sysfs).entries().empty());
  CHECK(pkeys(sysfs).first() == Pkey{});
  sysfs.write("pkeys/x", "0x8001\n");
  CHECK(pkeys(sysfs).empty());
  CHECK(pkeys(sysfs).entries().empty());
  const PortTable<Pkey> table = pkeys(sysfs);
  CHECK(table.empty());
  sysfs.write("pkeys/0", "0x8001\n");
  CHECK(table.empty());
  CHECK(table.entries().empty());
}

TEST_CASE("a table that does not come from sysfs", "[sys]") {
  const Gid gid = *ib::parse_gid("fe80::1");
  PortTable<Gid> table;
  CHECK(table.empty());
  CHECK(table.first() == Gid{});
  table = {gid, Gid{}};
  CHECK(table.size() == 2);
  CHECK(table.first() == gid);
  CHECK(std::vector<Gid>(table.begin(), table.end()) == std::vector{gid, Gid{}});
}

}  // namespace sys_port_table_tests
