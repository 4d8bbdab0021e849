// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor through which every Set of a program goes, right above the Rpc. A Set goes to the node that was meant, or is not sent:
//
//  - If the path names the node (IbPath::expected_node_guid), the NodeInfo of the node at its end is the last request before each Set, also
//    before one that is repeated because it was lost or the node was busy. What is printed of the Set is read before that.
//  - While the program refuses Sets (a node that is named by a part of its name only), none is sent.
//  - In a rehearsal the Set is recorded and not sent. The values to set are returned as the answer.
//  - A Set that was sent can be reported with the node and the port that it changed (SetPolicy::report).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

/// A Set that was sent, or was not sent because it is a rehearsal.
struct PlannedSet {
  path::Path path;
  std::vector<std::uint8_t> mad;  ///< the whole request
  Guid node_guid;                 ///< of the node that it changes; 0 where SMPs do not go there
  std::string description;        ///< of that node; may be empty
  std::optional<unsigned> port;   ///< the port that it changes, or all_ports; nothing if it concerns no single port
  bool is_elsewhere{};            ///< that node is not at the end of `path`; see SetPolicy::node

  /// The attribute that is set; null if it is not known. Of AccessRegister it is mlx::AccessRegister.
  const StructInfo* attribute() const;
  /// The bytes of the attribute.
  Bytes data() const;
  /// "Set PMPortCounters of 'leaf10' 0000:0000:0000:0300 port 3".
  std::string done() const;
};

/// What a program lets its Sets do. It may change between Sets.
struct SetPolicy {
  std::string refusal;  ///< if it is not empty, a Set is a UsageError with this text
  bool rehearses{};     ///< Sets are not sent
  bool names_by_sa{};   ///< for Sets that go to the SA, it also gives the names of nodes. The other Sets begin with an SMP anyway
  /// Called after each Set that was sent and not refused, if it is not null. Costs a NodeDescription for each node, before its first Set.
  std::function<void(const PlannedSet&)> report;
  std::optional<path::Path> node;   ///< what the next Sets change, if they go to a manager
  std::optional<unsigned> port;     ///< the port that they change, if they do not name it
  std::vector<PlannedSet> planned;  ///< the Sets of a rehearsal, in their order
};

class SetGuard final : public mad::Layer {
 public:
  /// `below` sends SMPs to the nodes. Both must outlive this object.
  SetGuard(mad::Transactor& below, SetPolicy& policy) : Layer(below), policy_(policy) {}

  /// GMPs to `lid` are meant for the node at the end of the directed route `route`, whose LID was resolved to `lid`.
  void expect(Lid lid, path::Path route) { routes_.insert_or_assign(lid, std::move(route)); }
  /// Passes on every request that is not a Set. Throws UsageError for a Set while Sets are refused.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Task<mad::Result<mad::Reply>> set(const mad::Request& request);
  mad::Task<mad::Result<mad::Reply>> send(const mad::Request& request);
  const path::Path& target_of(const mad::Request& request) const;
  std::unique_ptr<mad::Transactor> by_sa(const mad::Request& request) const;
  bool is_checked(const path::Path& target) const;
  mad::Task<mad::Result<std::optional<smp::NodeInfo>>> check(const mad::Request& request);
  mad::Task<PlannedSet> describe(const mad::Request& request);
  static void complete(PlannedSet& set, const std::optional<smp::NodeInfo>& node);
  mad::Reply plan(const mad::Request& request, PlannedSet set);

  SetPolicy& policy_;
  std::map<Lid, path::Path> routes_;          ///< see expect()
  std::map<Guid, std::string> descriptions_;  ///< of nodes, for SetPolicy::report
};

}  // namespace ib::subnet
