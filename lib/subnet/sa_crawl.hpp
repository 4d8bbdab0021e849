// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of a neighbourhood, asked for one by one. For discover_from_sa().
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "async/group.hpp"
#include "mad/transactor.hpp"
#include "subnet/sa_discovery.hpp"
#include "subnet/sa_records.hpp"

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
    unsigned depth{};  ///< links from the start
    int port = -1;     ///< of `lid`: asked about, or for a node the one it was reached by
    Lid from;          ///< the link by which a node was reached; zero at the start
    std::uint8_t from_port{};
  };

  void pump();
  async::Task<> perform(Work work);
  async::Task<> ask_node(Work work);
  async::Task<> ask_switch_info(Work work);
  async::Task<> ask_port_info(Work work);
  async::Task<> ask_link(Work work);
  void found(const Work& work, const sa::NodeRecord& record);
  bool at_rim(unsigned depth) const { return depth >= options_.radius; }

  mad::Transactor& transactor_;
  SaRecords& records_;
  const SaDiscoverOptions& options_;
  async::TaskGroup group_;
  std::deque<Work> work_;
  std::unordered_map<std::uint16_t, unsigned> depth_;  // of LIDs that were asked about
  std::unordered_set<std::uint16_t> switches_;         // LIDs
  std::unordered_set<std::uint32_t> linked_;           // by LID << 8 | port: the far ends of links that are known
  std::uint64_t queries_{};
  std::size_t ports_{};  // that nodes claim to have
};

}  // namespace ib::subnet
