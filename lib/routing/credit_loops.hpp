// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dependencies between channels that multicast packets add: a multicast tree can close a loop that unicast routes leave open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "routing/channels.hpp"
#include "routing/multicast.hpp"
#include "routing/unicast.hpp"

namespace ib::routing {

class MulticastChannels {
 public:
  /// All must outlive this. Groups whose entries are not trees are left out: their loops are findings by themselves.
  MulticastChannels(const Network& network, const MulticastTables& tables, const Multicast& multicast);

  /// Returns the SLs of a group; 0 if they are not known. If this function is empty, the SLs of no group are known.
  std::function<SlSet(Lid mlid)> sls_of;

  std::span<const Lid> groups() const { return groups_; }
  bool switches_send() const { return switches_send_; }
  bool knows_all_sls() const {
    return std::ranges::all_of(groups_, [&](Lid mlid) { return sls_of && sls_of(mlid) != 0; });
  }
  /// Adds the dependencies of the packets of a group.
  void add_to(Channels& channels, Lid mlid);
  void add_to(LaneGraph& lanes, Lid mlid);
  /// The LID of a member whose packets hold `held` and want `wanted`; nothing if there is none. If `lanes` is null, VLs are not looked at.
  std::optional<Lid> sender(Lid mlid, const LoopChannel& held, const LoopChannel& wanted, LaneGraph* lanes);

 private:
  static constexpr unsigned no_vl = LaneGraph::lanes;
  struct Held {
    PortId port_id;
    unsigned vl;
  };
  /// Returns the VL of a packet that a switch sends through `out`; nothing if the packet is not sent.
  using FindLane = std::function<std::optional<unsigned>(PortId out, unsigned in)>;
  using UseEdge = std::function<void(Held held, Held wanted)>;

  void walk(Lid mlid, std::span<const Member> members, const FindLane& lane, const UseEdge& use);
  /// Walks once with each SL that the group may use; if `lanes` is null, once over ports only.
  void walk_lanes(Lid mlid, std::span<const Member> members, LaneGraph* lanes, const UseEdge& use);
  void forward(const Held* held, SwitchIndex at, unsigned in, const FindLane& lane, const UseEdge& use);

  const Network& network_;
  const MulticastTables& tables_;
  const Multicast& multicast_;
  std::vector<Lid> groups_;
  bool switches_send_{};
  std::vector<std::uint32_t> entry_of_;  // by switch, for one group
  std::span<const MulticastEntry> entries_;
  std::vector<std::uint32_t> seen_;  // by PortId: the VLs with which it was seen
  std::vector<Held> queue_;
};

// The verdict on credit loops: whether packets can wait for each other in a circle, so that none of them moves again. It is found first
// over ports only. Only where that graph has a cycle the virtual lanes decide.

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

/// Gets the routes to a destination and its number.
using UseRoutes = std::function<void(const RouteTree& tree, std::size_t destination)>;
/// Reads SLtoVL mapping tables, and what else a verdict on lanes needs.
using ReadLanes = std::function<async::Task<>(std::vector<WantedLanes> ports)>;

/// Where credit loops are looked for. All must outlive the search.
struct LoopInput {
  const LinearTables& tables;
  std::span<const DestinationLid> destinations;
  bool with_switches;
  const Channels& channels;      ///< with the edges of all destinations, and with `multicast` the edges of its groups
  MulticastChannels* multicast;  ///< may be null
  const SlToVlTables& lanes;
  const ServiceLevels& levels;
};

/// `unread`: forwarding tables lack entries, so that the graph may lack edges. If ports are in cycles, `read` fills the lanes and levels of
/// `input` first; it may be empty: lanes are not known. `read` and `pause` must outlive the task.
async::Task<CreditLoops> find_loops(LoopInput input, bool unread, const ReadLanes& read, const Pause& pause);

// The analysis of all routes: where packets go, and whether they can wait for each other for ever.

/// The tables of a network, and what else decides where its packets go.
struct NetworkTables {
  explicit NetworkTables(const subnet::Subnet& subnet, bool with_switches = false);
  /// Whether a table of any switch was read as a whole.
  bool has_any() const;

  Network network;
  bool switches_send;  ///< and are destinations
  std::vector<DestinationLid> destinations;
  LinearTables linear;
  AdaptiveRouting adaptive;
  MulticastTables multicast;
  SlToVlTables lanes;  ///< filled during the analysis
  ServiceLevels levels;
  GroupMembers groups;  ///< as far as the SA names them
};

struct AnalysisChoice {
  bool unicast_loops{};  ///< credit loops of unicast packets alone
  bool multicast{};
  SlSet group_sls{};  ///< of groups whose own SLs are not known
};

/// The results. Members point into each other: an object stays where it is made.
struct RouteFindings {
  explicit RouteFindings(const NetworkTables& tables) : unicast(tables.network, tables.destinations), channels(tables.network) {}
  RouteFindings(const RouteFindings&) = delete;
  RouteFindings& operator=(const RouteFindings&) = delete;

  Unicast unicast;
  Channels channels;
  std::optional<CreditLoops> loops;
  std::optional<Multicast> multicast;
  std::optional<CreditLoops> multicast_loops;  ///< of unicast and multicast packets together
};

/// Analyses `tables`. `use` gets the routes to each destination too. `read` fills NetworkTables::lanes and NetworkTables::levels; it is
/// called only if ports can wait for each other in a circle. Each of these functions and `pause` may be empty. All must outlive the task.
async::Task<> analyse(const NetworkTables& tables, AnalysisChoice choice, const UseRoutes& use, const ReadLanes& read, const Pause& pause,
                      RouteFindings& found);

}  // namespace ib::routing
