// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet administrator for tests: it knows NodeRecords of as many nodes as it is told, finds them by LID and node type, and
// answers SubnAdmGet and SubnAdmGetTable over whatever channel it is given. To SubnAdmGetMulti it answers with a path from each
// source to each destination.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/server.hpp"
#include "support/multi_paths.hpp"
#include "support/send_table.hpp"

namespace ibtest {

/// The record of the node with LID `number`: a switch where that divides by 10, else a CA.
inline ib::sa::NodeRecord node_record(unsigned number) {
  ib::sa::NodeRecord record;
  record.lid = ib::Lid{static_cast<std::uint16_t>(number)};
  record.node_info.node_type = static_cast<ib::smp::NodeType>(number % 10 == 0 ? 2 : 1);
  record.node_info.num_ports = 1;
  record.node_info.node_guid = record.node_info.port_guid = ib::Guid{0x0002c90300000000U + number};
  std::ranges::copy(fmt::format("node {}", number), record.node_description.node_string.begin());
  return record;
}

class SaServer {
 public:
  /// Serves behind `channel`, which gets an Rpc of its own.
  SaServer(ib::async::Loop& loop, std::unique_ptr<ib::mad::Channel> channel, unsigned nodes)
      : rpc_(loop, std::move(channel)), server_(rpc_) {
    using namespace ib;
    for (unsigned i = 1; i <= nodes; ++i) records_.push_back(node_record(i));
    server_.on(mad::mgmt_class::sa, mad::method::get, sa::NodeRecord::attribute_id, [this](const mad::Incoming& incoming) {
      const auto found = find(incoming);
      if (found.empty()) throw incoming.error(0x0300, "No records");  // IBA 15.2.4
      if (found.size() > 1) throw incoming.error(0x0400, "Too many records");
      server_.send_reply(incoming, found.front());
    });
    server_.on(mad::mgmt_class::sa, mad::method::get_table, sa::NodeRecord::attribute_id,
               [this](const mad::Incoming& incoming) { send_table(server_, incoming, find(incoming)); });
    server_.on(mad::mgmt_class::sa, mad::method::get_multi, sa::MultiPathRecord::attribute_id,
               [this](const mad::Incoming& incoming) { send_table(server_, incoming, multi_paths(incoming)); });
    server_.serve(mad::service_of<sa::NodeRecord>());
  }

  ib::mad::Rpc& rpc() { return rpc_; }
  ib::mad::Server& server() { return server_; }

 private:
  std::vector<ib::sa::NodeRecord> find(const ib::mad::Incoming& incoming) const {
    const auto wanted = incoming.as<ib::sa::NodeRecord>();
    const auto mask = ib::load_be<std::uint64_t>(&incoming.bytes()[48]);  // IBA 15.2.1.1: ComponentMask
    std::vector<ib::sa::NodeRecord> found;
    std::ranges::copy_if(records_, std::back_inserter(found), [&](const auto& record) {
      return ((mask & 1U) == 0 || record.lid == wanted.lid) &&
             ((mask & 0x10U) == 0 || record.node_info.node_type == wanted.node_info.node_type);
    });
    return found;
  }

  ib::mad::Rpc rpc_;
  ib::mad::Server server_;
  std::vector<ib::sa::NodeRecord> records_;
};

}  // namespace ibtest
