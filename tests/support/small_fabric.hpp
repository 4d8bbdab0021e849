// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabrics on which most tests of commands run.
#pragma once

#include "support/fake_fabric.hpp"

namespace ibtest {

/// A switch of four ports (LID 1) with two hosts: the one of the test at port 1 (LID 2), another one at port 2 (LID 3).
struct SmallFabric {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, here, other;

  SmallFabric() {
    leaf = fabric.add_switch(0x100, 4, "leaf 1");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
};

/// Two switches with two links between them and a host each: the one of the test, and one of two ports. LIDs are 1 to 4.
struct TwoWayFabric {
  FakeFabric fabric;
  FakeFabric::NodeId near, far, here, other;

  TwoWayFabric() {
    near = fabric.add_switch(0x100, 4, "near");
    far = fabric.add_switch(0x200, 4, "far");
    here = fabric.add_ca(0x300, 1, "here");
    other = fabric.add_ca(0x400, 2, "other");
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, far, 3);
    fabric.link(far, 4, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }

  ib::path::Path by_lid(unsigned lid) const {
    ib::path::IbPath path;
    path.end_port = &fabric.end_port();
    path.slid = fabric.end_port().lid;
    path.dlid = ib::Lid{static_cast<std::uint16_t>(lid)};
    path.dqpn = path.sqpn = ib::Qpn{0};
    return path;
  }
  ib::path::Path by_route(const std::vector<std::uint8_t>& ports) const {
    ib::path::IbDrPath path(&fabric.end_port());
    for (const std::uint8_t port : ports) path = *path.advance(port);
    return path;
  }
};

}  // namespace ibtest
