// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that reads attributes of nodes from the subnet administrator. Each SubnGet becomes a SubnAdmGet of the record
// that holds the attribute (IBA 15.2.5), and a directed route is followed by LinkRecords. The nodes receive no requests, no
// M_Key is needed, and this host sends no SMP. Other requests pass to the Transactor below.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "async/once.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"

namespace ib::sa {

/// One SubnAdmGet that replaces a SubnGet.
struct RecordQuery {
  std::uint16_t attribute_id{};     ///< of the record
  std::uint64_t component_mask{};   ///< IBA 15.2.1.1
  std::vector<std::uint8_t> bytes;  ///< the record with its selecting components set
  std::size_t offset{}, size{};     ///< place of the SMP attribute in the record, in bytes
  /// The attribute is a block of a table in which zeros stand for nothing, and of which the SA may hold only some blocks: P_Keys, multicast
  /// forwarding. A missing record of such a block is not an error. Zeros in other tables are values: port 0, VL 0.
  bool sparse = false;
  bool switch_only = false;          ///< a sparse table that only switches have
  std::uint8_t port{};               ///< the port that the sparse table belongs to
  std::uint64_t only_of_switches{};  ///< the bits of the component mask that apply only if the node is a switch
};

/// The query for SMP attribute `smp_attribute` with `modifier` of the node at `lid`. Nothing if the SA has no record of the attribute.
///
/// Two rules differ between an SMP and a record. Port 0 in a PortInfo request to a channel adapter or router means "the port
/// that received this SMP" (IBA 14.2.5.6); in a record, the LID selects that port. For a switch, port 0 is port 0 itself.
/// Also, the tables of an end port of a channel adapter or router are selected by its LID without a port number.
std::optional<RecordQuery> record_query(std::uint16_t smp_attribute, std::uint32_t modifier, Lid lid);

class SaTransactor final : public mad::Layer {
 public:
  /// `below` must outlive this object. Queries use its path to the SA at the time of construction.
  explicit SaTransactor(mad::Transactor& below) : Layer(below) {}

  /// Answers a SubnGet with a reply in the form that the node would have sent. The SA's errors are passed on: an SaError with
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
  mad::Task<mad::Result<smp::NodeInfo>> node_info(Lid lid);
  mad::Task<mad::Result<Lid>> request_link(Lid from, std::uint8_t port);
  mad::Task<Lid> lid_of_port(Lid lid, std::uint8_t port);

  async::Once<std::pair<Lid, std::uint8_t>, mad::Result<Lid>> links_;  ///< by LID and port
  async::Once<Lid, mad::Result<mad::Reply>> nodes_;                    ///< NodeRecords: each answers for NodeInfo and NodeDescription
};

}  // namespace ib::sa
