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
};

}  // namespace ibtest
