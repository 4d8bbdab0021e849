// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that reads attributes of nodes from the subnet administrator. Each SubnGet becomes a SubnAdmGet of the record
// that holds the attribute (IBA 15.2.5), and a directed route is followed by LinkRecords. The nodes receive no requests, no
// M_Key is needed, and this host sends no SMP. Other requests pass to the Transactor below.
#pragma once

#include <utility>

#include "async/once.hpp"
#include "mad/transactor.hpp"
#include "sa/record_query.hpp"

namespace ib::sa {

class SaTransactor final : public mad::Transactor {
 public:
  /// `below` must outlive this object. Queries use its path to the SA at the time of construction.
  explicit SaTransactor(mad::Transactor& below);

  /// Answers a SubnGet with a reply in the form that the node would have sent. The errors are those of the SA: an SaError with
  /// code 3 (no records) if the SA knows no such node or port, or has no such record. If a node and its port exist but the SA has no
  /// record for a block of P_Keys or of a multicast forwarding table, the block reads as zeros, which stand for nothing there. Throws Error
  /// for an attribute that no record holds, or if the SA's links lead to an impossible LID.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

  /// The LID at the end of `path`. A directed route is followed link by link in the SA's database, from this end port or from
  /// the LID where the route begins. Found links are stored.
  mad::Task<mad::Result<Lid>> find_lid(const path::Path& path);

 private:
  mad::Task<mad::Result<mad::Reply>> read(const mad::Request& request);
  mad::Task<mad::Result<mad::Reply>> fetch(RecordQuery query, Lid lid, mad::Reason reason);
  mad::Task<mad::Result<mad::Reply>> query_sa(RecordQuery query, mad::Reason reason);
  mad::Task<mad::Result<Lid>> across(Lid from, std::uint8_t port);
  mad::Task<mad::Result<NodeKind>> node_kind(Lid lid);
  mad::Task<mad::Result<Lid>> request_link(Lid from, std::uint8_t port);
  mad::Task<Lid> lid_of_port(Lid lid, std::uint8_t port);
  /// Whether the node really has the table for which the SA has no record.
  mad::Task<bool> is_plausible(const RecordQuery& query, Lid lid);

  mad::Transactor& below_;
  async::Once<std::pair<Lid, std::uint8_t>, mad::Result<Lid>> links_;  ///< by LID and port
  async::Once<Lid, mad::Result<mad::Reply>> nodes_;                    ///< NodeRecords: each answers for NodeInfo and NodeDescription
};

}  // namespace ib::sa
