// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The nodes and links of another model that a sweep may have missed: those beyond the ports from which no answer came. When two models are
// compared, it is not known whether these still exist.
#pragma once

#include <vector>

#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

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
  bool link(PortIndex port) const;

 private:
  bool is_open(PortIndex port) const;

  const Subnet& other_;
  const Counterparts& pairs_;
  std::vector<bool> open_;   // by port of the sweep: whether it is not known what is at the other end
  std::vector<bool> nodes_;  // by node of the other model; see node()
};

}  // namespace ib::subnet
