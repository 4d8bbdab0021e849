// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths as values: text, timeouts, completeness, reversal, indexes.
#include "path/path.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace path_path_tests {

using namespace ib;
using path::IbDrPath;
using path::IbPath;
using path::Path;
using std::chrono::nanoseconds;

namespace {

struct Ends {
  Ends() {
    device.name = "ibsim0";
    port.device = &device;
    port.number = 1;
    port.lid = Lid{0x10};
    port.lmc = 2;
    port.gids = {Gid::from(link_local_prefix, {0x1491}), Gid{}, Gid::from(GidPrefix{0x2001'0db8'0000'0000}, {5})};
    port.pkeys = {Pkey{0x7fff}, Pkey{0x8001}, Pkey{0}};
  }
  sys::Device device;
  sys::EndPort port;
};

}  // namespace

TEST_CASE("paths read as python-rdma writes them", "[path]") {
  IbPath p;
  CHECK(to_text(p) == "Path 0 -> 0 SL=0 PKey=0xffff DQPN=None");
  p.slid = Lid{1};
  p.dlid = Lid{18};
  p.dqpn = Qpn{1};
  CHECK(to_text(p) == "Path 1 -> 18 SL=0 PKey=0xffff DQPN=1");
  p.has_grh = true;
  p.sgid = Gid::from(link_local_prefix, {1});
  p.dgid = Gid::from(link_local_prefix, {2});
  p.traffic_class = 3;
  p.flow_label = 4;
  p.hop_limit = 64;
  CHECK(to_text(p) == "Path fe80::1 1 -> fe80::2 18 TC=3 FL=4 HL=64 SL=0 PKey=0xffff DQPN=1");
  IbDrPath d;
  CHECK(to_text(d) == "DR Path (0,)");
  d = *d.advance(1);
  CHECK(to_text(d) == "DR Path (0, 1)");
  d.dlid = Lid{2};
  d.dr_slid = Lid{1};
  CHECK(to_text(d) == "DR Path 2 -> (0, 1)");
  d.dr_dlid = Lid{9};
  CHECK(to_text(d) == "DR Path 2 -> (0, 1) -> 9");
  d.dr_slid = permissive_lid;
  CHECK(to_text(d) == "DR Path (0, 1) -> 9");
}

TEST_CASE("timeouts follow the IBA's formulas", "[path]") {
  IbPath p;
  p.packet_life_time = 18;
  p.resp_time = 20;
  p.dack_resp_time = 15;
  CHECK(mad_timeout(p) == nanoseconds(4096LL * (2 * (1 << 18) + (1 << 20))));  // 6.44 s
  CHECK(qp_timeout(p) == nanoseconds(4096LL * (2 * (1 << 18) + (1 << 15))));
  p.packet_life_time = 0;
  p.resp_time = 0;
  CHECK(mad_timeout(p) == nanoseconds(3 * 4096));
  p.packet_life_time = 63;  // the most that a PathRecord can say
  CHECK(mad_timeout(p) > std::chrono::hours(4));
  p.timeout = std::chrono::milliseconds(250);
  CHECK(mad_timeout(p) == std::chrono::milliseconds(250));
  Ends ends;
  ends.port.subnet_timeout = 10;
  IbPath from;
  from.end_port = &ends.port;
  from.resp_time = 0;
  CHECK(mad_timeout(from) == nanoseconds(4096LL * (2 * 1024 + 1)));
}

TEST_CASE("a path is complete when a packet can be sent on it", "[path]") {
  const Ends ends;
  IbPath p;
  p.end_port = &ends.port;
  p.slid = Lid{1};
  p.dlid = Lid{2};
  CHECK_FALSE(complete(p));
  p.dqpn = Qpn{0};
  CHECK(complete(p));
  p.has_grh = true;
  CHECK_FALSE(complete(p));
  p.sgid = p.dgid = Gid{};
  CHECK(complete(p));
  p.dlid = Lid{0xc000};
  CHECK_FALSE(complete(p));
  CHECK_FALSE(complete(IbDrPath()));
  CHECK(complete(IbDrPath(&ends.port)));
}

TEST_CASE("a path on RoCE is complete with both GIDs", "[path]") {
  Ends ends;
  ends.port.link_layer = ib::sys::LinkLayer::ethernet;
  IbPath p;
  p.end_port = &ends.port;
  p.dqpn = Qpn{1};
  CHECK_FALSE(complete(p));
  p.slid = p.dlid = Lid{1};
  CHECK_FALSE(complete(p));
  p.sgid = p.dgid = Gid{};
  CHECK_FALSE(complete(p));
  p.has_grh = true;
  CHECK(complete(p));
  p.slid = p.dlid = Lid{};
  CHECK(complete(p));
}

TEST_CASE("reversing swaps the ends", "[path]") {
  IbPath p;
  p.slid = Lid{1};
  p.dlid = Lid{2};
  p.sqpn = Qpn{1};
  p.dqpn = Qpn{0x123456};
  p.sgid = Gid::from(link_local_prefix, {1});
  p.dgid = Gid::from(link_local_prefix, {2});
  p.dqpsn = 7;
  p.dack_resp_time = 9;
  p.srdatomic = 4;
  p.hop_limit = 1;
  Path path = p;
  reverse(path);
  CHECK(to_spec(path) ==
        "IBPath(end_port=None, DGID=GID('fe80::1'), DLID=1, SGID=GID('fe80::2'), SLID=2, dqpn=1, drdatomic=4, hop_limit=1, "
        "sack_resp_time=9, sqpn=1193046, sqpsn=7)");
  reverse(path);
  CHECK(path == Path(p));
  p.has_grh = true;
  path = p;
  reverse(path, false);
  CHECK(path.ib().hop_limit == 1);
  reverse(path);
  CHECK(path.ib().hop_limit == 255);
}

TEST_CASE("indexes are found in the end port's tables", "[path]") {
  const Ends ends;
  IbPath p;
  p.end_port = &ends.port;
  CHECK(pkey_index(p) == 0);  // 0xffff, of which the table has the limited member
  path::set_pkey_index(p, 1);
  CHECK(p.pkey == Pkey{0x8001});
  CHECK(pkey_index(p) == 1);
  p.pkey = Pkey{0x1234};
  CHECK_THROWS_WITH(pkey_index(p), "PKey 0x1234 not available on ibsim0/1");
  CHECK_THROWS_WITH(path::set_pkey_index(p, 2), "PKey index 2 not available on ibsim0/1");
  CHECK_THROWS_AS(path::set_pkey_index(p, 99), UsageError);

  CHECK(sgid_index(p) == 0);
  p.sgid = ends.port.gids[2];
  CHECK(sgid_index(p) == 2);
  p.sgid = Gid::from(link_local_prefix, {99});
  CHECK_THROWS_WITH(sgid_index(p), "GID fe80::63 not available on ibsim0/1");

  p.slid = Lid{0x13};
  CHECK(slid_bits(p) == 3);
  p.slid = Lid{0x10};
  CHECK(slid_bits(p) == 0);
  CHECK_THROWS_AS(pkey_index(IbPath{}), Error);
}

TEST_CASE("a GID index above 255 is refused, not cut to another one", "[path]") {
  Ends ends;
  std::vector<Gid> gids(302);
  gids[255] = Gid::from(link_local_prefix, {0x1255});
  gids[256] = Gid::from(link_local_prefix, {0x1256});
  ends.port.gids = gids;
  IbPath p;
  p.end_port = &ends.port;
  p.sgid = gids[255];
  CHECK(sgid_index(p) == 255);
  p.sgid = gids[256];
  CHECK_THROWS_WITH(sgid_index(p), "GID fe80::1256 of ibsim0/1 has index 256, and packets leave from the first 256 GIDs only");
}

TEST_CASE("P_Keys and GIDs of a planarized HCA come from the half that carries GMPs", "[path]") {
  Ends smi, gsi;
  smi.port.smi_port = gsi.port.smi_port = &smi.port;
  smi.port.gsi_port = gsi.port.gsi_port = &gsi.port;
  const Gid gid = Gid::from(link_local_prefix, {0x77});
  smi.port.gids = {Gid{}, Gid{}, gid};
  gsi.port.gids = {Gid{}, gid};
  smi.port.pkeys = {Pkey{0xffff}, Pkey{0x8005}};
  gsi.port.pkeys = {Pkey{0xffff}, Pkey{0x8003}, Pkey{0x8005}};
  for (const sys::EndPort* named : {&smi.port, &gsi.port}) {
    IbPath p;
    p.end_port = named;
    p.sgid = gid;
    p.pkey = Pkey{0x8005};
    CHECK(sgid_index(p) == 1);
    CHECK(pkey_index(p) == 2);
    path::set_pkey_index(p, 1);
    CHECK(p.pkey == Pkey{0x8003});
  }
}

}  // namespace path_path_tests
