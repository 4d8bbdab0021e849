// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one place through which every Set of a command goes, right above what sends. A Set goes to the node that was meant, or not at all:
//
//  - Where the path says which node is meant (IbPath::meant), the node at its end is requested to say who it is, before each Set.
//  - A TARGET that is only a piece of a name chooses nothing that is set.
//  - With --dry-run the Set is noted in place of being sent, and what it would have set is taken for the answer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mad/transactor.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

/// A Set that --dry-run kept back.
struct PlannedSet {
  path::Path path;
  std::vector<std::uint8_t> mad;  ///< the whole request
  Guid node_guid;                 ///< of the node at the end of `path`; 0 where SMPs do not go there
  std::string description;        ///< of that node; may be empty
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
  /// `below` sends SMPs to the nodes themselves. While `refusal` is not empty a Set is a UsageError with that text. Both must outlive this
  /// object.
  SetGuard(mad::Transactor& below, const std::string& refusal, bool dry_run);

  /// GMPs to `lid` are meant for the node at the end of the directed route `route`: someone else said that it has this LID.
  void expect(Lid lid, path::Path route) { routes_.insert_or_assign(lid, std::move(route)); }
  const std::vector<PlannedSet>& planned() const { return planned_; }

  /// Passes on what sets nothing. Throws UsageError where Sets are refused.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Task<mad::Result<mad::Reply>> set(const mad::Request& request);
  mad::Task<mad::Result<bool>> check(const mad::Request& request);
  mad::Task<mad::Reply> plan(const mad::Request& request);

  mad::Transactor& below_;
  bool dry_run_;
  const std::string& refusal_;
  std::map<Lid, path::Path> routes_;  ///< see expect()
  std::vector<PlannedSet> planned_;
};

}  // namespace ib::tools
