// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabric on which the commands that read counters are tested.
#pragma once

#include "support/fake_fabric.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"

namespace ibtest {

/// A switch (LID 1) with four ports, the host of the test (LID 2) at its port 1, and another host whose ports, one or two, are linked to
/// the next ones (LID 3, and 4). There is an SA, and each node has a PMA.
struct CountingFabric {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 4, "leaf");
  FakeFabric::NodeId here = fabric.add_ca(0x200, 1, "here");
  FakeFabric::NodeId other;
  FakeSa sa{fabric};
  FakePma &pma, &here_pma, &other_pma;

  explicit CountingFabric(unsigned ports_of_other = 2)
      : other(fabric.add_ca(0x300, ports_of_other, "other")),
        pma(linked(ports_of_other).run(leaf)),
        here_pma(run(here)),
        other_pma(run(other)) {}

 private:
  CountingFabric& linked(unsigned ports_of_other) {
    fabric.link(leaf, 1, here, 1);
    for (unsigned port = 1; port <= ports_of_other; ++port) fabric.link(leaf, port + 1, other, port);
    fabric.assign_lids();
    fabric.attach(here);
    return *this;
  }
  FakePma& run(FakeFabric::NodeId node) { return run_pma(fabric, node); }
};

}  // namespace ibtest
