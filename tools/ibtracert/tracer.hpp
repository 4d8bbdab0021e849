// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Follows a packet from switch to switch, by the tables that each switch answers. Requests go by directed routes, which do not depend on
// the tables. For a port of which only the LID is known, the way from this host to it is traced first. All answers are kept for the run.
//
// What an entry of a table means is judged by lib/routing (entry_kind()). Its Network, LinearTables and Ways are not used here: they need
// the model and the tables of all switches, where one way takes four requests a hop, sent hop after hop. A LinearTable and a MulticastTable
// of lib/subnet are not either: they end at the capacity and the top that a switch claims, whichever is less. A trace uses an entry that
// the switch answers although the two contradict each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "async/once.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "routing/tables.hpp"

namespace ib::tools::tracert {

using DirectedRoute = std::vector<std::uint8_t>;
inline constexpr std::size_t longest_route = 62;  ///< the limit of infiniband-diags

/// A node, and the port of the node at which a packet is: the port through which it came in, or the port that sends it.
struct PacketPlace {
  smp::NodeInfo node;
  std::string description;  ///< up to its terminator; hostile bytes
  unsigned port{};
  Lid lid;
  unsigned lmc{};
  smp::PortState state{};
  bool is_switch() const { return node.node_type == smp::NodeType::switch_; }
  /// Whether packets to `to` are for this port.
  bool owns(Lid to) const { return to.value >= lid.value && to.value < lid.value + (1U << lmc); }
  bool is_end_node() const { return node.node_type == smp::NodeType::channel_adapter || node.node_type == smp::NodeType::router; }
};

enum class WayEnd : std::uint8_t {
  arrived,
  unreachable,  ///< the source or the destination does not answer
  no_entry,     ///< a switch has no entry for the LID, or an entry with a port that it does not have
  not_read,     ///< the table of a switch is not known: it did not answer, or the snapshot does not have it
  not_active,   ///< a port on the way is not Active
  no_answer,    ///< the node at the other end of a link does not answer
  wrong_port,   ///< the packet ends at a port that is not the destination
  loop,         ///< the packet comes to a switch where it was before
  too_long,     ///< longer than a directed route can be
  no_way,       ///< the multicast tree does not lead there
};
std::string_view name(WayEnd end);

struct TracedHop {
  unsigned out{};
  PacketPlace at;
};

/// A line that infiniband-diags prints on stdout while it looks for a multicast way.
struct SearchStep {
  std::string_view function;  ///< the C function that is named in the line; empty with `at`
  std::string text;           ///< empty: the switch `at` is reached a second time, which is printed without -v too
  std::optional<PacketPlace> at;
};

struct TracedWay {
  /// The way ends like that. Returns false.
  bool fail(WayEnd how, std::string why) {
    end = how;
    reason = std::move(why);
    return false;
  }

  std::optional<PacketPlace> from, to;  ///< the source and the destination, if they answered
  std::vector<TracedHop> hops;
  WayEnd end = WayEnd::arrived;
  std::string reason;                          ///< of an end that is not `arrived`
  std::shared_ptr<const mad::MadError> error;  ///< of WayEnd::not_read: the error of the request
  std::vector<SearchStep> steps;               ///< of a multicast way, with TracerOptions::legacy
  std::optional<TracedHop> stuck;              ///< the last hop, to a switch that does not forward the packet; not in `hops`
};

struct TracerOptions {
  bool force{};    ///< treat two ports with one LID as one port, and go on if the destination does not answer
  bool from_sa{};  ///< the SA answers: LocalPortNum is not the port through which a request came in
  /// Search as infiniband-diags. The destination is read before the way, which ends at its port GUID; else the way ends at a port that owns
  /// the LID, and the destination is read only if the way does not lead to it. Entries beyond LinearFDBTop count up to LinearFDBCap. Loops
  /// are followed until the route is too long. Default ports of a switch without an entry for a group do not count. A port of a multicast
  /// tree that does not answer ends the search. TracedWay::steps is filled.
  bool legacy{};
  /// Gets the remarks of infiniband-diags' search, each with the name of a C function. Null: there are none.
  std::function<void(std::string_view function, std::string_view text)> warned{};
  path::Path here;      ///< a directed route to this host's own port, with the keys and times of the options
  path::IbPath by_lid;  ///< SMPs by LID go on paths like this one
};

class PacketTracer {
 public:
  /// `transactor` must outlive this.
  PacketTracer(mad::Transactor& transactor, TracerOptions options) : transactor_(transactor), options_(std::move(options)) {}

  /// The way of a packet to `to` from the node at the end of `from`. Afterwards `from` is the route to the end of the way.
  async::Task<TracedWay> unicast(DirectedRoute& from, Lid to);
  /// The way of a packet to the group `mlid`, sent from the end of `from`, to the port at `to`.
  async::Task<TracedWay> multicast(DirectedRoute from, Lid to, std::uint32_t mlid);

  const std::shared_ptr<const mad::MadError>& error() const { return error_; }

 private:
  struct Lookup {
    int port = -1;  ///< the output port in the table, or −1
    bool enhanced_port0{};
    std::shared_ptr<const mad::MadError> error;  ///< the table was not read
    routing::EntryKind kind(const PacketPlace& at) const;
  };
  struct Members {
    routing::PortSet out;
    bool known{};                                ///< false: not read, or the switch has no room for such a group
    std::shared_ptr<const mad::MadError> error;  ///< not read
  };
  struct Branch;
  class UnicastWalk;
  class MulticastWalk;

  using Bytes64 = std::vector<std::uint8_t>;
  using AnswerKey = std::tuple<DirectedRoute, std::uint16_t, std::uint16_t, std::uint32_t>;  // route, LID, attribute, modifier

  path::Path path_to(const DirectedRoute& route, Lid lid) const;
  async::Task<mad::Result<Lid>> lid_in_sa(DirectedRoute route);
  async::Task<mad::Result<sa::LinkRecord>> link(Lid from, std::uint8_t port);
  async::Task<mad::Result<Bytes64>> read(DirectedRoute route, Lid lid, const StructInfo* info, std::uint32_t modifier);
  async::Task<> fetch(DirectedRoute route, Lid lid, const StructInfo* info, std::uint32_t modifier);
  async::Task<const Bytes64*> get(DirectedRoute route, Lid lid, const StructInfo* info, std::uint32_t modifier);
  /// Requests what place() needs, in parallel.
  async::Task<> fetch_place(DirectedRoute route, Lid lid);
  async::Task<std::optional<PacketPlace>> place(DirectedRoute route, Lid lid);
  async::Task<Lookup> look_up(DirectedRoute route, Lid to);
  /// With from_sa: sets the port of the switch `at` to the port that is linked to port `out` of the node at `from`.
  async::Task<> set_in_port(Lid from, unsigned out, PacketPlace& at);
  async::Task<Members> members(DirectedRoute route, const smp::NodeInfo& node, std::uint32_t mlid);
  void warn(std::string_view function, std::string_view text) const {
    if (options_.warned) options_.warned(function, text);
  }

  mad::Transactor& transactor_;
  TracerOptions options_;
  async::Once<AnswerKey, mad::Result<Bytes64>> answers_{[](const mad::Result<Bytes64>&) { return true; }};
  async::Once<std::pair<Lid, std::uint8_t>, mad::Result<sa::LinkRecord>> links_;
  std::shared_ptr<const mad::MadError> error_;
};

}  // namespace ib::tools::tracert
