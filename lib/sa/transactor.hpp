// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that reads from the subnet administrator what others ask the nodes for: each SubnGet becomes a SubnAdmGet
// of the record that holds the attribute (IBA 15.2.5), a directed route is followed by LinkRecords. No node sees a
// read, no M_Key is needed, and no SMP leaves this host for it. All else passes to the Transactor below.
#pragma once

#include <unordered_map>

#include "mad/transactor.hpp"
#include "sa/record_query.hpp"

namespace ib::sa {

class SaTransactor final : public mad::Transactor {
 public:
  /// `below` must outlive this; queries go on its path to the SA as it is now.
  explicit SaTransactor(mad::Transactor& below);

  /// A SubnGet is answered by a reply of the form that the node would have sent. The errors are those of the SA: an
  /// SaError with code 3 (no records) where it knows no such node or port. Blocks of a table for which it has no record,
  /// of a node and a port that exist, read as zeros. Throws Error for an attribute that no record holds, or where the
  /// SA's links lead to an impossible LID.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;
  const mad::Stats* stats() const override { return below_.stats(); }

  /// The LID at the end of `path`: a directed route is followed link by link in the SA's database, from this end port
  /// or from the LID that the route begins at. What was learnt is kept.
  mad::Task<mad::Result<Lid>> find_lid(const path::Path& path);

 private:
  mad::Task<mad::Result<mad::Reply>> read(const mad::Request& request);
  mad::Task<mad::Result<mad::Reply>> ask(const RecordQuery& query, mad::Reason reason);
  mad::Task<mad::Result<Lid>> across(Lid from, std::uint8_t port);
  mad::Task<mad::Result<NodeKind>> node_kind(Lid lid);
  /// Whether the node has the table that the SA has no record of.
  mad::Task<bool> is_plausible(const RecordQuery& query, Lid lid);

  mad::Transactor& below_;
  std::unordered_map<std::uint32_t, Lid> links_;       ///< by LID << 8 | port
  std::unordered_map<std::uint16_t, NodeKind> nodes_;  ///< by LID
};

}  // namespace ib::sa
