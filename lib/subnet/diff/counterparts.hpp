// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The nodes and ports that two models of a subnet have in common. A GUID does not say which node is which, because several nodes may
// claim it (Node::twin): nodes with one GUID are paired by what they are linked to, then by what they say of themselves. A port is paired
// with the port that has its number.
#pragma once

#include <string>
#include <vector>

#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The pairs, as indexes: the models need not outlive this object. Without models there is no pair.
class Counterparts {
 public:
  Counterparts() = default;
  Counterparts(const Subnet& current, const Subnet& reference);

  /// The node or port of the current model that one of the reference model is; none if it is not there. Of several nodes with one GUID,
  /// it is also none where it is not known which of them is meant.
  NodeIndex node_now(NodeIndex reference) const { return at(nodes_now_, reference); }
  PortIndex port_now(PortIndex reference) const { return at(ports_now_, reference); }
  /// The node or port of the reference model that one of the current model was.
  NodeIndex node_then(NodeIndex current) const { return at(nodes_then_, current); }
  PortIndex port_then(PortIndex current) const { return at(ports_then_, current); }

  Counterparts reversed() const;

 private:
  using Indexes = std::vector<std::uint32_t>;
  static std::uint32_t at(const Indexes& of, std::uint32_t index) { return index < of.size() ? of[index] : none; }

  Indexes nodes_now_, nodes_then_, ports_now_, ports_then_;
};

/// The reason why `reference` is of another fabric than `current`, as the end of a sentence: "it is of another fabric: none of its 8 nodes
/// is here". Empty if they may be of one: of the nodes of the smaller model one in ten or more is in the other one too.
std::string other_fabric(const Subnet& current, const Subnet& reference, const Counterparts& pairs);

// The nodes and links of another model that a sweep may have missed: those beyond the ports from which no answer came. When two models are
// compared, it is not known whether these still exist.

class Unseen {
 public:
  /// `swept` and `failures` are the results of a sweep. `other` is the model that it is compared with, and `pairs` are the counterparts of
  /// `swept`, as the current model, and `other`. All but the failures must outlive this object.
  Unseen(const Subnet& swept, const Failures& failures, const Subnet& other, const Counterparts& pairs);

  /// Whether the sweep did not find `node` of the other model, and the node may be beyond a port from which no answer came: such a port
  /// leads to the node in the other model, by nodes that the sweep did not find either.
  bool node(NodeIndex node) const { return nodes_[node]; }
  /// Whether the link at `port` of the other model may exist, because the sweep learnt nothing about either of its ends. False if `port`
  /// has no link in the other model.
  bool link(PortIndex port) const {
    const PortIndex peer = other_.port(port).peer;
    return peer != none && is_open(port) && is_open(peer);
  }

 private:
  bool is_open(PortIndex port) const;

  const Subnet& other_;
  const Counterparts& pairs_;
  std::vector<bool> open_;   // by port of the sweep: whether it is not known what is at the other end
  std::vector<bool> nodes_;  // by node of the other model; see node()
};

/// The counterparts of two sweeps, and what each sweep may have missed of the other. Both models must outlive this.
struct ComparedSweeps {
  ComparedSweeps(const Subnet& current, const Failures& current_failures, const Subnet& reference, const Failures& reference_failures)
      : pairs(current, reference),
        reversed(pairs.reversed()),
        missed_now(current, current_failures, reference, pairs),
        missed_before(reference, reference_failures, current, reversed) {}
  ComparedSweeps(const ComparedSweeps&) = delete;
  ComparedSweeps& operator=(const ComparedSweeps&) = delete;

  Counterparts pairs, reversed;
  Unseen missed_now, missed_before;
};

}  // namespace ib::subnet
