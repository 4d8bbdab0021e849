// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths in the words of umad, there and back, on an ordinary port and on the two halves of a planarized HCA.
#include "mad/channel/umad.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"

namespace mad_umad_address_tests {

using namespace ib;
using mad::umad_address;
using mad::umad_source;

namespace {

const Gid remote = Gid::from(link_local_prefix, Guid{0x99});

/// The SMI half of an HCA, fake0/1, and its GSI half, whose tables differ.
struct Halves {
  Halves() {
    smi.port.smi_port = gsi.port.smi_port = &smi.port;
    smi.port.gsi_port = gsi.port.gsi_port = &gsi.port;
    gsi.device.name = "fake1";
    gsi.port.lid = Lid{0x50};
    gsi.port.lmc = 2;
    gsi.port.pkeys = {Pkey{0x8001}, Pkey{0x8002}, default_pkey};
    gsi.port.gids = {Gid{}, Gid::from(link_local_prefix, Guid{0x77})};
    smi.port.gids = {Gid{}, Gid{}, Gid::from(link_local_prefix, Guid{0x77})};
  }
  ibtest::FakeHost smi, gsi;
};

path::IbPath path_of(const sys::EndPort& end_port) {
  path::IbPath path;
  path.end_port = &end_port;
  path.dlid = Lid{0x1234};
  path.slid = Lid{0x53};
  path.sl = 3;
  path.has_grh = true;
  path.dgid = remote;
  path.sgid = Gid::from(link_local_prefix, Guid{0x77});
  path.hop_limit = 7;
  path.traffic_class = 8;
  path.flow_label = 0x12345;
  return path;
}

std::uint32_t host(const std::uint32_t& field) { return load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&field)); }

}  // namespace

TEST_CASE("a GMP is addressed with the tables of the half that carries it, whichever half was named") {
  const Halves hca;
  for (const sys::EndPort* named : {&hca.smi.port, &hca.gsi.port}) {
    const ib_mad_addr_t address = umad_address(path_of(*named), *named, false);
    CHECK(address.pkey_index == 2);
    CHECK(address.gid_index == 1);
    CHECK(address.path_bits == 3);
    CHECK(host(address.qpn) == 1);
    CHECK(host(address.qkey) == path::qp1_qkey);
    CHECK(address.sl == 3);
    CHECK(address.grh_present == 1);
    CHECK(std::ranges::equal(address.gid, remote.bytes));
    CHECK(address.hop_limit == 7);
    CHECK(address.traffic_class == 8);
    CHECK(host(address.flow_label) == 0x12345);
  }
}

TEST_CASE("an SMP has no P_Key to choose, and the LID of the half with QP0") {
  const Halves hca;
  path::IbPath path = path_of(hca.gsi.port);
  path.has_grh = false;
  path.pkey = Pkey{0x1234};
  const ib_mad_addr_t address = umad_address(path, hca.gsi.port, true);
  CHECK(address.pkey_index == 0);
  CHECK(address.path_bits == 0);  // its LMC is 0
  CHECK(host(address.qpn) == 0);
  CHECK(host(address.qkey) == 0);
}

TEST_CASE("a GMP that came in has the P_Key, the LID and the GID of the half that received it") {
  const Halves hca;
  for (const sys::EndPort* named : {&hca.smi.port, &hca.gsi.port}) {
    ib_mad_addr_t address = umad_address(path_of(*named), *named, false);
    address.path_bits = 1;
    address.pkey_index = 1;
    const mad::Source source = umad_source(address, *named);
    CHECK(source.slid == Lid{0x1234});
    CHECK(source.sqpn == 1);
    CHECK(source.sgid == remote);
    CHECK(source.flow_label == 0x12345);
    const path::Path path = source.path(*named, mad::mgmt_class::performance);
    CHECK(path.ib().end_port == named);
    CHECK(path.ib().pkey == Pkey{0x8002});
    CHECK(path.ib().dlid == Lid{0x51});
    CHECK(path.ib().dgid == hca.gsi.port.gids[1]);
  }
}

TEST_CASE("a GID that the table does not show is not taken for another") {
  const Halves hca;
  ib_mad_addr_t address{};
  address.grh_present = 1;
  address.gid_index = 200;
  CHECK_FALSE(umad_source(address, hca.gsi.port).dgid);
}

TEST_CASE("a GID beyond the indexes of umad is refused") {
  ibtest::FakeHost host;
  std::vector<Gid> gids(300);
  gids[257] = Gid::from(link_local_prefix, Guid{0x77});
  host.port.gids = std::move(gids);
  CHECK_THROWS_AS(umad_address(path_of(host.port), host.port, false), Error);
}

}  // namespace mad_umad_address_tests
