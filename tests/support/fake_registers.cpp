// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/fake_registers.hpp"

#include <memory>

namespace ibtest {

FakeRegisters& run_registers(FakeFabric& fabric, FakeFabric::NodeId node) {
  constexpr std::uint32_t mellanox = 0x2c9;
  fabric.node(node).info.vendor_id = mellanox;
  const auto agent = std::make_shared<FakeRegisters>(fabric, node);
  agent->general.capability_mask = ib::mlx::general_capabilities::is_access_register_supported;
  fabric.node(node).services[vendor_class].answer = [agent](unsigned, ib::Bytes request) { return agent->answer(request); };
  return *agent;
}

}  // namespace ibtest
