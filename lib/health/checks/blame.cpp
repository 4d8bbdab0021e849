// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/blame.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "health/checks/evidence.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

bool breaks_packets(const Input& input, PortIndex port) {
  const PortChanges* counts = input.counts.find(port);
  if (counts == nullptr) return false;
  return std::ranges::any_of(std::array{"port_rcv_errors", "symbol_error_counter"}, [&](const char* counter) {
    const CounterChange* change = counts->find(counter);
    return change != nullptr && counted_of(input, *counts, *change) != 0;
  });
}

bool passes_broken(const Input& input, PortIndex port) { return input.counts.delta(port, "port_rcv_remote_physical_errors") != 0; }

/// The way of marked packets to one port, against their direction.
class Trail {
 public:
  Trail(const Input& input, Blame& blame) : input_(input), blame_(blame) {}

  void follow(PortIndex victim) {
    std::vector<PortIndex> from{victim};
    seen_ = {victim};
    while (!from.empty()) {
      const PortIndex port = from.back();
      from.pop_back();
      step(port, from);
    }
  }

 private:
  /// From a port that received marked packets to the ports by which they came to its neighbour.
  void step(PortIndex port, std::vector<PortIndex>& from) {
    const subnet::Subnet& subnet = input_.subnet;
    const PortIndex peer = subnet.port(port).peer;
    if (peer == subnet::none) return;
    const NodeIndex neighbour = subnet.port(peer).node;
    bool is_explained = false;
    if (subnet.node(neighbour).kind() != subnet::NodeKind::sw) {  // it forwards nothing
      ++blame_.sources[neighbour];
      return;
    }
    for (const subnet::Port& of : subnet.ports_of(subnet.node(neighbour))) {
      const PortIndex at = subnet.node(neighbour).first_port + of.number;
      if (at == peer) continue;
      if (breaks_packets(input_, at)) {
        is_explained = true;
        if (seen_.insert(at).second) ++blame_.victims[at];
      } else if (passes_broken(input_, at)) {
        is_explained = true;
        if (seen_.insert(at).second) from.push_back(at);
      }
    }
    if (!is_explained) ++blame_.sources[neighbour];
  }

  const Input& input_;
  Blame& blame_;
  std::set<PortIndex> seen_;
};

}  // namespace

Blame blame(const Input& input) {
  Blame found;
  Trail trail(input, found);
  for (const PortChanges& counts : input.counts.all()) {
    if (passes_broken(input, counts.port)) trail.follow(counts.port);
  }
  return found;
}

}  // namespace ib::health
