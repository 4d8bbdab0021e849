// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A long table and a program that requests it: an SA that answers SubnAdmGetTable(NodeRecord) in segments, as an RmppPeer does, and an
// engine that sends the query.
#pragma once

#include <memory>
#include <vector>

#include "async/loop.hpp"
#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/subn_adm.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"
#include "support/rmpp_peer.hpp"

namespace ibtest {

/// Bytes from one NodeRecord of a table to the next: 108, rounded up to eights.
inline constexpr std::size_t node_record_step = 112;

/// The whole answer to a SubnAdmGetTable of NodeRecords: `count` of them, with LIDs from 1.
inline std::vector<std::uint8_t> node_table(ib::Bytes request, std::size_t count) {
  std::vector<std::uint8_t> mad(request.begin(), request.begin() + 56);
  mad[3] |= ib::mad::method::response;
  mad[45] = node_record_step / 8;
  for (std::size_t i = 0; i < count; ++i) {
    ib::sa::NodeRecord record;
    record.lid = ib::Lid{static_cast<std::uint16_t>(i + 1)};
    mad.resize(56 + node_record_step * (i + 1));
    record.pack(ib::MutableBytes(mad).subspan(56 + node_record_step * i, ib::sa::NodeRecord::wire_size));
  }
  return mad;
}

using NodeTable = ib::mad::Result<ib::sa::Table<ib::sa::NodeRecord>>;

/// Requests all NodeRecords.
inline ib::mad::Task<NodeTable> request_nodes(ib::mad::Rpc& rpc) {
  const ib::sa::NodeRecord::Query query;
  co_return co_await ib::sa::try_subn_adm_get_table(rpc, query);
}

/// Whether these are the `count` records of node_table().
inline bool is_whole(const NodeTable& result, std::size_t count) {
  if (!result || result->torn || result->records.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (result->records[i].lid.value != static_cast<std::uint16_t>(i + 1)) return false;
  }
  return true;
}

/// A host whose SA has a table of `count` nodes. The channel reports what was not answered, as umad does.
struct TableBench {
  TableBench(std::size_t records, ib::async::Duration timeout, unsigned retries) : count(records) {
    peer.answer = [this](ib::Bytes request) { return node_table(request, count); };
    fabric.network.gmp = [this](ib::Bytes mad, const ib::path::Path&) -> std::optional<FakeFabric::Answer> {
      if (!ib::mad::RmppView::is_active(mad)) asked.push_back(elapsed());
      peer.take(fabric.channel(), mad);
      return {};
    };
    rpc = std::make_unique<ib::mad::Rpc>(loop, fabric.open());
    rpc->sa_path().ib().timeout = timeout;
    rpc->sa_path().ib().retries = retries;
  }
  ib::async::Duration elapsed() const { return clock.now() - ib::async::Time{}; }
  NodeTable ask() { return loop.run(request_nodes(*rpc)); }

  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 2);
  RmppPeer peer;
  std::size_t count;
  std::vector<ib::async::Duration> asked;  ///< when each request came, from the beginning
  FakeClock clock;
  ib::async::Loop loop{clock};
  std::unique_ptr<ib::mad::Rpc> rpc;
};

}  // namespace ibtest
