// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A small fabric whose devices have registers, and a reading of them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/reg.hpp"
#include "phy/reading.hpp"
#include "support/catch.hpp"
#include "support/fake_registers.hpp"
#include "unit/subnet/swept.hpp"

namespace phy_reading_tests {

using namespace ib;
using namespace ib::phy;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using ibtest::Swept;

inline constexpr std::size_t registers_of_a_port = 6;

/// Gives a port all registers that are read, a bit error ratio and a module.
inline void add_port(FakeRegisters& registers, unsigned port) {
  registers.add<reg::PddrOperation>(port);
  registers.add<reg::PddrTroubleshooting>(port);
  registers.set<reg::PddrModule>(port, "vendor_sn", std::string_view("SERIAL"));
  registers.set<reg::PddrModule>(port, "cable_type", 1U);
  registers.add<reg::PddrLinkDown>(port);
  registers.set<reg::PpcntPhysical>(port, "link_down_events", port);
  registers.set<reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
  registers.set<reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
}

/// Counts the requests in flight to each LID.
class InFlight final : public mad::Transactor {
 public:
  InFlight(mad::Transactor& below, std::map<unsigned, unsigned>& most) : Transactor(below.end_port()), below_(below), most_(most) {}
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    const unsigned lid = request.path.ib().dlid.value;
    most_[lid] = std::max(most_[lid], ++now_[lid]);
    mad::Result<mad::Reply> reply = co_await below_.try_call(request);
    --now_[lid];
    co_return reply;
  }

 private:
  mad::Transactor& below_;
  std::map<unsigned, unsigned> now_;
  std::map<unsigned, unsigned>& most_;
};

/// A switch with the host of the test at port 1, another host at port 2 and nothing at port 3.
struct Bench {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 3, "leaf"), here = fabric.add_ca(0x200, 1, "here"),
                     other = fabric.add_ca(0x300, 1, "other");
  FakeRegisters *leaf_registers{}, *other_registers{};
  std::optional<Swept> swept;
  std::optional<subnet::PortPaths> paths;
  ReadingOptions options;
  Reading found;
  std::map<unsigned, unsigned> most_in_flight;  ///< by LID
  std::function<void()> before_reading;         ///< after the sweep
  bool has_smps = true;

  Bench() {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    leaf_registers = &run_registers(fabric, leaf);
    other_registers = &run_registers(fabric, other);
    for (unsigned port = 1; port <= 3; ++port) add_port(*leaf_registers, port);
    add_port(*other_registers, 1);
    leaf_registers->general.ext_major = 31;
    leaf_registers->general.ext_minor = 2012;
    leaf_registers->general.ext_sub_minor = 1024;
    std::ranges::copy(std::string_view("MT_0000000042"), leaf_registers->general.fw_psid.begin());
  }
  path::Path start() {
    path::IbDrPath path(&fabric.end_port());
    path.sqpn = Qpn{0};
    path.retries = 1;
    return path;
  }
  /// Reads all ports of the switch and of the other host.
  void read() {
    swept.emplace(fabric);
    paths.emplace(swept->subnet, start());
    options.paths = &*paths;
    std::vector<subnet::PortIndex> ports;
    for (const auto& [guid, count] : {std::pair<std::uint64_t, unsigned>{0x100, 3}, {0x300, 1}}) {
      const auto node = swept->subnet.find_node(Guid{guid});
      for (unsigned port = 1; port <= count; ++port) ports.push_back(swept->subnet.port_of(node, port));
    }
    if (before_reading) before_reading();
    if (has_smps) options.smps = &*swept->rpc;
    InFlight transactor(*swept->rpc, most_in_flight);
    found = swept->loop.run(read_phy(transactor, swept->subnet, std::move(ports), options));
  }
};

}  // namespace phy_reading_tests
