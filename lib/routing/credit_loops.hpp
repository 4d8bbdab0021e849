// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The verdict on credit loops: whether packets can wait for each other in a circle, so that none of them moves again. It is found first
// over ports alone. Only where that graph has a cycle the virtual lanes decide.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "routing/lanes.hpp"
#include "routing/multicast_channels.hpp"
#include "routing/unicast.hpp"

namespace ib::routing {

enum class Verdict : std::uint8_t {
  free,               ///< no loop, whichever SLs are used
  free_for_used_sls,  ///< none with the SLs that are used
  possible,           ///< the SLs of pairs are not known, and with some SLs there is a loop
  found,
  not_read,  ///< tables that decide were not read
};
std::string_view name(Verdict verdict);

/// A strongly connected component of channels.
struct CreditLoop {
  std::size_t channels{};          ///< in the component
  std::vector<LoopChannel> cycle;  ///< a shortest one
  std::vector<Pair> witnesses;     ///< for each of its edges: a pair whose packets hold its first channel and want its second one
  bool needs_aggregation{};        ///< without routes between Aggregation Nodes there would be no loop
};

struct CreditLoops {
  Verdict verdict{};
  std::uint64_t channel_count{}, edge_count{};  ///< over ports
  std::uint64_t unknown_pairs{};                ///< pairs whose SL is not known, where the verdict depends on it
  std::vector<CreditLoop> loops;                ///< the largest first
};

/// Called from time to time during long computations, so that other tasks can run and the user can interrupt. `done` of `of` `units` are
/// done.
using Pause = std::function<async::Task<>(std::size_t done, std::size_t of, std::string_view units)>;
/// After every so many destinations.
inline constexpr std::size_t destinations_a_slice = 256;

/// Finds the ways to each destination in turn. `use` gets them and the number of the destination.
using UseWays = std::function<void(const Ways& ways, std::size_t destination)>;
async::Task<> each_destination(Ways& ways, std::span<const DestinationLid> destinations, bool skip_aggregation, const UseWays& use,
                               const Pause& pause);

/// Calls `use` for each group in turn, and `pause` after each, if it is not empty.
async::Task<> each_group(std::span<const Lid> groups, const std::function<void(Lid mlid)>& use, const Pause& pause);

/// Reads SLtoVL mapping tables, and what else a verdict on lanes needs.
using ReadLanes = std::function<async::Task<>(std::vector<WantedLanes> ports)>;

class LoopSearch {
 public:
  /// All must outlive this. `channels` has the edges of all destinations, and with `multicast` those of its groups.
  LoopSearch(const LinearTables& tables, std::span<const DestinationLid> destinations, bool with_switches, const Channels& channels,
             MulticastChannels* multicast);

  /// The ports that are in cycles. If there are none, judge() needs neither tables nor levels.
  const std::vector<PlaceIndex>& ports_in_cycles() const { return ports_; }
  /// `unread`: forwarding tables lack entries, so that the graph may lack edges. `lanes` may be null: not read.
  async::Task<CreditLoops> judge(bool unread, const SlToVlTables* lanes, const ServiceLevels& levels, const Pause& pause);
  /// Has `read` fill `lanes` and `levels` before, if ports are in cycles. `read` may be empty: lanes are not known.
  async::Task<CreditLoops> judge(bool unread, const ReadLanes& read, const SlToVlTables& lanes, const ServiceLevels& levels,
                                 const Pause& pause);

 private:
  struct Edge {
    LoopChannel held, wanted;
  };
  async::Task<> judge_lanes(CreditLoops& result, const ServiceLevels& levels, const Pause& pause);
  async::Task<bool> judge_lanes(CreditLoops& result, const ServiceLevels& levels, UnknownSl rest, const Pause& pause);
  async::Task<bool> fill(LaneGraph& graph, bool skip_aggregation, const Pause& pause);
  async::Task<> report_ports(CreditLoops& result, const Pause& pause);
  /// `graph` and `levels` are null where lanes are not looked at.
  async::Task<> find_witnesses(CreditLoop& loop, const LaneGraph* graph, const ServiceLevels* levels, UnknownSl rest, const Pause& pause);
  async::Task<std::optional<Pair>> unicast_witness(Ways& ways, Edge edge, const ServiceLevels* levels, UnknownSl rest, const Pause& pause);
  std::optional<Pair> sender_on(const Ways& ways, const Edge& edge, std::size_t destination, const ServiceLevels* levels, UnknownSl rest);
  std::optional<Pair> sender_to(const Ways& ways, const Edge& edge, SwitchIndex from, SwitchIndex before, std::size_t destination,
                                const ServiceLevels* levels, UnknownSl rest) const;
  bool uses(const Edge& edge, unsigned in, unsigned next_in, SlSet sls) const;
  std::uint64_t unknown_pairs(const ServiceLevels& levels) const;
  bool has_aggregation() const;

  const Network& network_;
  const LinearTables& tables_;
  std::span<const DestinationLid> destinations_;
  bool with_switches_;
  const Channels& channels_;
  MulticastChannels* multicast_;
  const SlToVlTables* lanes_{};
  Digraph port_graph_;
  std::vector<std::vector<std::uint32_t>> port_components_;
  std::vector<PlaceIndex> ports_;
  std::vector<SwitchIndex> before_;  // by switch, for one destination; see sender_on()
};

}  // namespace ib::routing
