// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The names that people and scripts know: each of python-rdma's ibtool, its .pl and .sh too, runs a command here, as a word after ibtool
// and as the name of a link.
#include "support/catch.hpp"
#include "support/program.hpp"
#include "tools/frame/commands.hpp"

namespace tools_names_tests {

using namespace ib;

namespace {

constexpr std::string_view their_names[] = {
    "decode_mad",
    "dump_lfts",
    "dump_lfts.sh",
    "dump_mfts",
    "dump_mfts.sh",
    "help",
    "ibaddr",
    "ibcheckerrors",
    "ibcheckerrs",
    "ibchecknet",
    "ibchecknode",
    "ibcheckport",
    "ibcheckportstate",
    "ibcheckportwidth",
    "ibcheckstate",
    "ibcheckwidth",
    "ibclearcounters",
    "ibclearerrors",
    "ibdatacounters",
    "ibdatacounts",
    "ibdiscover.pl",
    "ibfindnodesusing",
    "ibfindnodesusing.pl",
    "ibhosts",
    "ibidsverify",
    "ibidsverify.pl",
    "iblinkinfo",
    "iblinkinfo.pl",
    "ibnetdiscover",
    "ibnodes",
    "ibping",
    "ibportstate",
    "ibprintca",
    "ibprintca.pl",
    "ibprintrt",
    "ibprintrt.pl",
    "ibprintswitch",
    "ibprintswitch.pl",
    "ibroute",
    "ibrouters",
    "ibstat",
    "ibstatus",
    "ibswitches",
    "ibswportwatch",
    "ibswportwatch.pl",
    "ibsysstat",
    "ibtracert",
    "ibv_devices",
    "init_all_ports",
    "perfquery",
    "query",
    "rdma_bw",
    "saquery",
    "set_guid",
    "set_nodedesc",
    "set_nodedesc.sh",
    "set_port_state",
    "sminfo",
    "smpdump",
    "smpquery",
    "subnet_diff",
    "vendstat",
};

}  // namespace

TEST_CASE("every name of python-rdma's ibtool is answered") {
  for (const std::string_view name : their_names) {
    INFO(name);
    CHECK(tools::find_command(name) != nullptr);
  }
}

TEST_CASE("a link by a name that infiniband-diags has dropped runs the command of that name") {
  const ibtest::FakeSysfs sysfs;
  for (const std::string name : {"ibchecknet", "ibdiscover.pl", "ibprintca.pl", "set_nodedesc.sh", "ibdatacounts"}) {
    INFO(name);
    const auto done = ibtest::diags({name, "--help"});
    CHECK(done.status == 0);
    CHECK(done.out == ibtest::ibtool({name, "--help"}).out);
  }
}

}  // namespace tools_names_tests
