// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The vendor's agent (class 0x0a) for a node of a FakeFabric.
//
//   FakeRegisters& registers = run_registers(fabric, leaf);
//   registers.set<reg::PddrModule>(1, "vendor_sn", "MT2030FT00042"); registers.service().faults.busy_next = 2;
#pragma once

#include "support/fake_fabric.hpp"
#include "support/vendor_agent.hpp"

namespace ibtest {

class FakeRegisters : public VendorAgent {
 public:
  FakeRegisters(FakeFabric& fabric, FakeFabric::NodeId node) : fabric_(fabric), node_(node) {}
  FakeRegisters(const FakeRegisters&) = delete;
  FakeRegisters& operator=(const FakeRegisters&) = delete;

  /// Its place in the fabric: faults (silence, busy) and numbers of requests.
  FakeFabric::Service& service() { return fabric_.node(node_).services.at(vendor_class); }

 private:
  FakeFabric& fabric_;
  FakeFabric::NodeId node_;
};

/// Has a node run such an agent, with AccessRegister in its GeneralInfo; its VendorID becomes Mellanox's. The fabric owns it.
FakeRegisters& run_registers(FakeFabric& fabric, FakeFabric::NodeId node);

}  // namespace ibtest
