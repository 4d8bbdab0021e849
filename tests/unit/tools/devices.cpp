// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstat, ibstatus and ibv_devices in both dialects on a host with two adapters: what they print, how they choose, how they fail.
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "tools/frame/host.hpp"

namespace tools_devices_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeSysfs;
using ibtest::ibtool;

namespace {

/// mlx5_10, an Ethernet adapter, comes before mlx5_2 as text and after it as people count.
struct Host {
  FakeSysfs sysfs;

  Host() {
    sysfs.device("mlx5_2", "0002:c903:0000:1490");
    sysfs.port("mlx5_2", {});
    sysfs.device("mlx5_10", "0002:c903:0000:14a0");
    sysfs.port("mlx5_10", {.gid = "fe80:0000:0000:0000:0002:c903:0000:14a1", .link_layer = "Ethernet"});
  }
};

}  // namespace

TEST_CASE_METHOD(Host, "ibtool shows the link layer") {
  CHECK_THAT(ibtool({"ibstat"}).out, contains("\t\tLink layer: InfiniBand\n") && contains("\t\tLink layer: Ethernet\n"));
  CHECK_THAT(ibtool({"ibstat", "mlx5_10", "1"}).out, ibtest::starts_with("CA: 'mlx5_10'\nPort 1:\nState: Active\n"));
  CHECK_THAT(ibtool({"ibstat", "mlx5_10", "1"}).out, contains("\nLink layer: Ethernet\n"));
  CHECK_THAT(ibtool({"ibstatus", "mlx5_2/1"}).out, contains("\trate:\t\t 40 Gb/sec (4X QDR)\n\tlink layer:\t InfiniBand\n\n"));
  sysfs.write("class/infiniband/mlx5_10/ports/1/link_layer", "\x1b[2J\n");
  CHECK_THAT(ibtool({"ibstat"}).out, contains("Link layer: \\x1b[2J\n"));
}

TEST_CASE_METHOD(Host, "the ports of ibstat can be printed as a table") {
  const auto table = ibtool({"ibstat", "--format", "table"});
  CHECK_THAT(table.out, ibtest::starts_with("DEVICE ") && contains("\nmlx5_10 ") && contains("Ethernet") && contains("40 Gb/sec (4X QDR)"));
  CHECK(ibtool({"ibstat", "--columns", "end_port,state", "--sort=-end_port"}).out ==
        "END PORT   STATE\nmlx5_2/1   Active\nmlx5_10/1  Active\n");
  CHECK(ibtool({"ibstat", "--columns", "device,state", "--format", "csv", "mlx5_2"}).out ==
        "device,state,state_text\r\nmlx5_2,4,Active\r\n");
  CHECK_THAT(ibtool({"ibstat", "--top=1", "--json"}).err, contains("JSON has devices"));
  CHECK_THAT(ibtool({"ibstat", "--sort", "stat"}).err, contains("no column is called 'stat'") && contains("state"));
}

TEST_CASE_METHOD(Host, "devices come as people count, and by legacy names as text") {
  CHECK(ibtool({"ibstat", "-l"}).out == "mlx5_2\nmlx5_10\n");
  CHECK(diags({"ibstat", "-l"}).out == "mlx5_10\nmlx5_2\n");
  CHECK_THAT(diags({"ibstatus"}).out, ibtest::starts_with("Infiniband device 'mlx5_10' port 1 status:\n"));
  CHECK_THAT(ibtool({"ibstatus"}).out, ibtest::starts_with("Infiniband device 'mlx5_2' port 1 status:\n"));
}

TEST_CASE_METHOD(Host, "ibstat by its legacy name") {
  CHECK(diags({"ibstat", "-s", "mlx5_2", "1"}).out == diags({"ibstat", "-s", "mlx5_2"}).out);
  CHECK(diags({"ibstat", "-p", "mlx5_2", "7"}).out == "0x0002c90300001491\n");
  CHECK(diags({"ibstat", "-lsp"}).out == "0x0002c903000014a1\n0x0002c90300001491\n");
  CHECK(diags({"ibstat", "mlx5_2", "-1"}).status == 2);  // an option that there is not
  CHECK_THAT(diags({"ibstat", "mlx5_2", "1"}).out, ibtest::starts_with("CA: 'mlx5_2'\nPort 1:\nState: Active\nPhysical state: LinkUp\n"));

  const auto no_port = diags({"ibstat", "mlx5_2", "7"});
  CHECK(no_port.status == 255);
  CHECK(no_port.out.empty());
  CHECK_THAT(no_port.err, contains("ca_stat: CA: 'mlx5_2' has no port number 7 - max (1)\n") &&
                              contains("stat of IB device 'mlx5_2' failed: No such file or directory\n"));
  const auto no_device = diags({"ibstat", "0002:c903:0000:1490"});  // knows no GUIDs
  CHECK(no_device.status == 255);
  CHECK_THAT(no_device.err, contains("'0002:c903:0000:1490' IB device can't be found"));
}

TEST_CASE_METHOD(Host, "ibstatus by its legacy name reads every word as a device") {
  const std::string one =
      "Infiniband device 'mlx5_2' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:0002:c903:0000:1491\n\tbase lid:\t 0x12\n"
      "\tsm lid:\t\t 0x1\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t 40 Gb/sec (4X QDR)\n"
      "\tlink_layer:\t InfiniBand\n\n";
  CHECK(diags({"ibstatus", "mlx5_2:1"}).out == one);
  CHECK(diags({"ibstatus", "mlx5_2", "mlx5_2:1", "", "nosuch"}).out == one + one);
  CHECK(diags({"ibstatus", "mlx5_2:"}).out.empty());
  CHECK_THAT(diags({"ibstatus", "mlx5_2:7"}).out,
             ibtest::starts_with("Infiniband device 'mlx5_2' port 7 status:\n\tdefault gid:\t unknown\n"
                                 "\tbase lid:\t unknown\n"));
  const std::string port = "class/infiniband/mlx5_2/ports/1/";
  for (const char* file : {"gids/0", "lid", "rate", "link_layer"}) std::filesystem::remove(sysfs.root() / port / file);
  sysfs.write(port + "sm_lid", "");
  CHECK(diags({"ibstatus", "mlx5_2:1"}).out ==
        "Infiniband device 'mlx5_2' port 1 status:\n\tdefault gid:\t unknown\n\tbase lid:\t unknown\n\tsm lid:\t\t\n"
        "\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t unknown\n\tlink_layer:\t IB\n\n");
  sysfs.port("mlx5_2", {.umad = "umad0"});
  const auto failed = diags({"ibstatus", "mlx5_2", "-x"});
  CHECK(failed.status == 255);
  CHECK(failed.out == one + "Fatal error:  device '-x': sys files not found (" + sysfs.root().string() + "/class/infiniband/-x/ports)\n");
  const auto help = diags({"ibstatus", "-h"});
  CHECK(help.status == 255);
  CHECK_THAT(help.out, ibtest::starts_with("Usage: ibstatus"));
  const FakeSysfs empty;
  CHECK(diags({"ibstatus"}).out == "Fatal error:  No devices\n");
}

TEST_CASE_METHOD(Host, "contradictory or superfluous words are an error") {
  for (const auto& words : std::vector<std::vector<std::string>>{{"ibstat", "-l", "-p"},
                                                                 {"ibstat", "-s", "-p"},
                                                                 {"ibstat", "-l", "mlx5_2"},
                                                                 {"ibstat", "mlx5_2", "1", "x"},
                                                                 {"ibv_devices", "x"}}) {
    CAPTURE(words);
    const auto done = ibtool(words);
    CHECK(done.status == 2);
    CHECK(done.out.empty());
    CHECK_FALSE(done.err.empty());
  }
  CHECK_THAT(ibtool({"ibstat", "-l", "-p"}).err, contains("-l and -p contradict each other"));
}

TEST_CASE_METHOD(Host, "a full disk is a failure for what reads sysfs") {
  for (const char* command : {"ibstat", "ibstatus", "ibv_devices"}) CHECK(ibtool({command}, {.full_disk = true}).status == 3);
  for (const char* command : {"ibstat", "ibstatus"}) CHECK(diags({command}, {.full_disk = true}).status == 255);
}

TEST_CASE_METHOD(Host, "the program says what it can be called") {
  const auto unknown = diags({"/usr/bin/ibnetdiscovr\x1b", "-l"});
  CHECK(unknown.status == 2);
  CHECK(unknown.out.empty());
  CHECK_THAT(unknown.err, contains("'ibnetdiscovr\\x1b'") && contains("ibtool") && contains("smpquery"));
  CHECK(diags({"./ibtool-2.0", "ibstat", "-l"}).out == "mlx5_2\nmlx5_10\n");
  CHECK(diags({"/opt/bin/ibv_devices"}).out == ibtool({"ibv_devices"}).out);
  CHECK(diags({"set_nodedesc.sh", "-v"}).out == ibtool({"set_nodedesc", "-v"}).out);
}

}  // namespace tools_devices_tests
