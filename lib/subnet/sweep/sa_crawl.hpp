// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the records around one node by single queries. Only for discover_from_sa().
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "async/group.hpp"
#include "mad/transactor.hpp"
#include "subnet/sweep/sa_discovery.hpp"
#include "subnet/sweep/sa_records.hpp"

namespace ib::subnet {

class SaCrawl {
 public:
  SaCrawl(async::Loop& loop, mad::Transactor& transactor, SaRecords& records, const SaDiscoverOptions& options)
      : transactor_(transactor), records_(records), options_(options), group_(loop) {}

  /// Throws the MadError of the NodeRecord of `start`.
  async::Task<> run(Lid start);
  std::uint64_t queries() const { return queries_; }

 private:
  enum class What : std::uint8_t { node, switch_info, port_info, link };
  struct Work {
    What what{};
    Lid lid;
    unsigned depth{};  ///< number of links from the start
    int port = -1;     ///< port of the node at `lid`: the port to query, or the port through which the node was reached
    Lid from;          ///< the link through which the node was reached; zero at the start
    std::uint8_t from_port{};
  };

  void pump();
  async::Task<> perform(Work work);
  async::Task<> request_node(Work work);
  async::Task<> request_switch_info(Work work);
  async::Task<> request_port_info(Work work);
  async::Task<> request_link(Work work);
  void found(const Work& work, const sa::NodeRecord& record);
  bool at_rim(unsigned depth) const { return !options_.alone && depth >= options_.radius; }

  mad::Transactor& transactor_;
  SaRecords& records_;
  const SaDiscoverOptions& options_;
  async::TaskGroup group_;
  std::deque<Work> work_;
  std::unordered_map<std::uint16_t, unsigned> depth_;  // of LIDs that were requested
  std::unordered_set<std::uint32_t> linked_;           // by LID << 8 | port: the far ends of known links
  std::uint64_t queries_{};
  std::size_t ports_{};  // sum of the port numbers that nodes report
};

}  // namespace ib::subnet
