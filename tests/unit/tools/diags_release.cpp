// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The legacy names as infiniband-diags 44.0 and as 56.1: what differs between them, whichever of the two was chosen at build time.

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "tools/frame/world.hpp"

namespace tools_diags_release_tests {

using namespace ib::tools;
using ibtest::contains;
using ibtest::diags;
using ibtest::Outside;
using ibtest::SmallFabric;

namespace {

const Outside as44{.diags_release = &diags_release("44.0")}, as56{.diags_release = &diags_release("56.1")};

const std::string speeds2 =
    "LinkSpeedExtActive2:.............No Extended Speed 2\nLinkSpeedExtSupported2:..........0\nLinkSpeedExtEnabled2:............0\n";

}  // namespace

TEST_CASE("diags release: a version that is not known stands for the first") {
  CHECK(as44.diags_release->version == "44.0");
  CHECK(as56.diags_release->version == "56.1");
  CHECK(&diags_release("65.0") == as44.diags_release);
}

TEST_CASE("diags release: -V") {
  SmallFabric f;
  CHECK(diags(f.fabric, {"ibaddr", "-V"}, as44).err == "ibaddr BUILD VERSION: 44.0\n");
  CHECK(diags(f.fabric, {"ibaddr", "-V"}, as56).err == "ibaddr BUILD VERSION: 56.1\n");
}

TEST_CASE("diags release: a PortInfo ends with LinkSpeedExt2") {
  SmallFabric f;
  const auto before = diags(f.fabric, {"smpquery", "PI", "3"}, as44), now = diags(f.fabric, {"smpquery", "PI", "3"}, as56);
  CHECK(before.status == 0);
  CHECK(now.status == 0);
  CHECK_THAT(before.out, contains("LinkWidthActive:") && !contains("LinkSpeedExtActive2"));
  CHECK(now.out == before.out + speeds2);
  CHECK(diags(f.fabric, {"smpquery", "NI", "3"}, as56).out == diags(f.fabric, {"smpquery", "NI", "3"}, as44).out);
  CHECK(diags(f.fabric, {"ibportstate", "3", "1"}, as56).out == diags(f.fabric, {"ibportstate", "3", "1"}, as44).out);
}

TEST_CASE("diags release: an end port that is Down is not opened, one that waits for its manager is") {
  SmallFabric f;
  const Outside init44{.port_state = "2: INIT", .diags_release = as44.diags_release};
  const Outside init56{.port_state = "2: INIT", .diags_release = as56.diags_release};
  const std::vector<std::string> words{"smpquery", "-D", "ND", "0"};
  CHECK(diags(f.fabric, words, init56).out == diags(f.fabric, words, init44).out);
  f.fabric.set_link(f.here, 1, false);
  CHECK(diags(f.fabric, words, as44).status == 0);
  const auto refused = diags(f.fabric, words, as56);
  CHECK(refused.status == 255);
  CHECK(refused.out == "smpquery: iberror: failed: Failed to open '(null)' port '0'\n");
  CHECK_THAT(refused.err, ibtest::ends_with(" mad_rpc_open_port2: can't open UMAD port ((null):0)\n"));
  CHECK(diags(f.fabric, {"ibnetdiscover"}, as56).out == "ibnetdiscover: iberror: failed: discover failed\n\n");
  CHECK(diags(f.fabric, {"ibqueryerrors"}, as56).out == "ibqueryerrors: iberror: failed: Failed to open port; (null):0\n\n");
  const auto links = diags(f.fabric, {"iblinkinfo", "-P", "1"}, as56);
  CHECK(links.status == 1);
  CHECK(links.out.empty());
  CHECK_THAT(links.err, contains("\nFailed to open (null) port 1\n"));
  // It opens its port without libibmad.
  CHECK(diags(f.fabric, {"smpdump", "-D", "0", "0x11"}, as56).out == diags(f.fabric, {"smpdump", "-D", "0", "0x11"}, as44).out);
}

TEST_CASE("diags release: a negative port number") {
  SmallFabric f;
  CHECK(diags(f.fabric, {"ibaddr", "-P", "-1"}, as44).status == 0);
  const auto refused = diags(f.fabric, {"ibaddr", "-P", "-1"}, as56);
  CHECK(refused.status == 255);
  CHECK(refused.out == "ibaddr: iberror: failed: Failed to open '(null)' port '-1'\n");
  const auto links = diags(f.fabric, {"iblinkinfo", "-P", "-1"}, as56);
  CHECK(links.status == 1);
  CHECK_THAT(links.err, contains("Failed to open (null) port -1\n"));
}

TEST_CASE("diags release: where an end port does not open, the function that reports it") {
  SmallFabric f;
  CHECK_THAT(diags(f.fabric, {"ibaddr", "-C", "nodev"}, as44).err, contains(" mad_rpc_open_port: can't open UMAD port (nodev:0)\n"));
  CHECK_THAT(diags(f.fabric, {"ibaddr", "-C", "nodev"}, as56).err, contains(" mad_rpc_open_port2: can't open UMAD port (nodev:0)\n"));
}

TEST_CASE("diags release: ibstat of a port that the device does not have") {
  SmallFabric f;
  const auto before = diags(f.fabric, {"ibstat", "fake0", "9"}, as44), now = diags(f.fabric, {"ibstat", "fake0", "9"}, as56);
  CHECK(before.status == 255);
  CHECK_THAT(before.err, contains("ibpanic: ") && contains(" main: stat of IB device 'fake0' failed: No such file or directory\n"));
  CHECK(now.status == 0);
  CHECK(now.out.empty());
  CHECK_THAT(now.err, contains("ca_stat: CA: 'fake0' has no port number 9") && !contains("ibpanic") &&
                          ibtest::ends_with(" main: stat of IB device 'fake0' failed\n"));
  CHECK(diags(f.fabric, {"ibstat", "nosuch"}, as56).status == 255);
}

}  // namespace tools_diags_release_tests
