// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A sweep of a fake fabric on a fake clock, with what the tests ask about it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "mad/rpc/rpc.hpp"
#include "subnet/sweep/discovery.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest {

struct Swept : ib::subnet::SweptSubnet {
  explicit Swept(FakeFabric& fabric, ib::subnet::DiscoverOptions options = {}, unsigned retries = 3, ib::subnet::SubnetLimits limits = {},
                 ib::mad::RpcLimits at_once = {})
      : SweptSubnet{ib::subnet::Subnet(limits), {}}, loop(clock) {
    rpc = std::make_unique<ib::mad::Rpc>(loop, fabric.open(), at_once);
    ib::path::IbDrPath start;
    start.end_port = &fabric.end_port();
    start.sqpn = ib::Qpn{0};
    start.retries = retries;
    loop.run(sweep(*this, start, std::move(options)));
    took = clock.now() - ib::async::Time{};
  }

  static ib::async::Task<> sweep(Swept& self, ib::path::Path start, ib::subnet::DiscoverOptions options) {
    ib::subnet::Discovered discovered = co_await ib::subnet::discover(*self.rpc, self.subnet, start, options);
    self.stats = std::move(discovered.stats);
    self.failures = std::move(discovered.failures);
  }

  std::size_t count(ib::subnet::NodeKind kind) const {
    const auto nodes = subnet.nodes();
    return std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.kind() == kind; });
  }
  std::size_t links() const {
    const auto ports = subnet.ports();
    return std::count_if(ports.begin(), ports.end(), [](const auto& port) { return port.peer != ib::subnet::none; }) / 2;
  }
  std::size_t failed(ib::subnet::Failure::Kind kind) const {
    return std::count_if(failures.begin(), failures.end(), [&](const auto& f) { return f.kind == kind; });
  }
  std::uint64_t sent() const { return rpc->stats()->sent(); }
  /// What was sent beyond the plan, by all the reasons that are counted.
  std::uint64_t explained() const {
    std::uint64_t sum = rpc->stats()->retries_lost + rpc->stats()->retries_busy;
    for (const auto& [reason, count] : stats.beyond) sum += count;
    for (const auto& [reason, count] : rpc->stats()->first_tries) sum += reason == ib::mad::requested ? 0 : count;
    return sum;
  }
  /// The GUIDs of all nodes, sorted.
  std::vector<std::uint64_t> guids() const {
    std::vector<std::uint64_t> all;
    for (const auto& node : subnet.nodes()) all.push_back(node.guid().value);
    std::sort(all.begin(), all.end());
    return all;
  }
  /// "A.p-B.q" for each link, lower end first, sorted; ends are GUIDs in hex.
  std::vector<std::string> link_names() const;

  FakeClock clock;
  ib::async::Loop loop;
  std::unique_ptr<ib::mad::Rpc> rpc;
  ib::subnet::DiscoverStats stats;
  ib::async::Duration took{};
};

inline std::vector<std::string> Swept::link_names() const {
  std::vector<std::string> names;
  for (const auto& port : subnet.ports()) {
    if (port.peer == ib::subnet::none) continue;
    const auto& peer = subnet.port(port.peer);
    const auto end = [&](const ib::subnet::Port& p) {
      char text[40];
      std::snprintf(text, sizeof text, "%llx.%u", static_cast<unsigned long long>(subnet.node(p.node).guid().value), p.number);
      return std::string(text);
    };
    const std::string a = end(port), b = end(peer);
    if (a <= b) names.push_back(a + "-" + b);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ibtest
