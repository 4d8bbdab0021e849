// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor through which every Set of a command goes, right above the Rpc. A Set goes to the node that was meant, or is not sent:
//
//  - If the path names the node (IbPath::expected_node_guid), the NodeInfo of the node at its end is the last request before each Set, also
//    before one that is repeated because it was lost or the node was busy. What is printed of the Set is read before that.
//  - A TARGET that is only a part of a node's name is not accepted for a Set.
//  - With --dry-run the Set is recorded and not sent. The values to set are returned as the answer.
//  - A Set that was sent can be reported with the node and the port that it changed (on_set()).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

/// A Set that was sent, or was not sent because of --dry-run.
struct PlannedSet {
  path::Path path;
  std::vector<std::uint8_t> mad;  ///< the whole request
  Guid node_guid;                 ///< of the node that it changes; 0 where SMPs do not go there
  std::string description;        ///< of that node; may be empty
  std::optional<unsigned> port;   ///< the port that it changes, or all_ports; nothing if it concerns no single port
  bool is_elsewhere{};            ///< that node is not at the end of `path`; see SetGuard::aim()

  /// "Set PMPortCounters of 'leaf10' 0000:0000:0000:0300 port 3".
  std::string done() const;
};

/// The Sets that a run with --dry-run would have sent, in their order.
struct PlannedSets final : Report {
  std::vector<PlannedSet> sets;
  Keys keys = Keys::hidden;

  void visit(report::Sink& sink) const override;
  /// A line for each Set.
  void text(TextOut& out) const override;
};

class SetGuard final : public mad::Transactor {
 public:
  /// `below` sends SMPs to the nodes. While `refusal` is not empty a Set is a UsageError with it. Both must outlive this object.
  SetGuard(mad::Transactor& below, const std::string& refusal, bool dry_run);

  /// GMPs to `lid` are meant for the node at the end of the directed route `route`, whose LID was resolved to `lid`.
  void expect(Lid lid, path::Path route) { routes_.insert_or_assign(lid, std::move(route)); }
  const std::vector<PlannedSet>& planned() const { return planned_; }
  /// Calls `report` after each Set that was sent and not refused. Costs a NodeDescription for each node, before its first Set.
  void on_set(std::function<void(const PlannedSet&)> report) { report_ = std::move(report); }
  /// For Sets that go to the SA: reads the names of nodes from the SA, too, without an SMP. The other Sets begin with an SMP anyway.
  void name_by_sa() { names_by_sa_ = true; }
  /// Says what the next Sets change, for on_set() and --dry-run: the node, where they go to a manager, and a port that they do not name.
  void aim(std::optional<path::Path> node, std::optional<unsigned> port) { aim_ = std::move(node), aimed_port_ = port; }

  /// Passes on every request that is not a Set. Throws UsageError for a Set while Sets are refused.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Task<mad::Result<mad::Reply>> set(const mad::Request& request);
  mad::Task<mad::Result<mad::Reply>> send(const mad::Request& request);
  const path::Path& target_of(const mad::Request& request) const;
  bool is_by_sa(const mad::Request& request) const;
  bool is_checked(const path::Path& target) const;
  mad::Task<mad::Result<std::optional<smp::NodeInfo>>> check(const mad::Request& request);
  mad::Task<PlannedSet> describe(const mad::Request& request);
  static void complete(PlannedSet& set, const std::optional<smp::NodeInfo>& node);
  mad::Reply plan(const mad::Request& request, PlannedSet set);

  mad::Transactor& below_;
  bool dry_run_, names_by_sa_{};
  const std::string& refusal_;
  std::map<Lid, path::Path> routes_;  ///< see expect()
  std::vector<PlannedSet> planned_;
  std::function<void(const PlannedSet&)> report_;  ///< see on_set()
  std::map<Guid, std::string> descriptions_;       ///< of nodes, for report_
  std::optional<path::Path> aim_;                  ///< see aim()
  std::optional<unsigned> aimed_port_;
};

}  // namespace ib::tools
