// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Follows a packet from switch to switch, by the tables that each switch answers. Requests go by directed routes, which do not depend on
// the tables. For a port of which only the LID is known, the way from this host to it is traced first. All answers are kept.
//
// What an entry of a table means is judged by entry_kind(). Network, LinearTables and RouteTree are not used here: they need the model and
// the tables of all switches, where one way takes four requests a hop, sent hop after hop. A LinearTable and a MulticastTable of
// lib/subnet are not either: they end at the capacity and the top that a switch claims, whichever is less. A trace uses an entry that
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
#include "subnet/sweep/lid_owners.hpp"

namespace ib::routing {

using DirectedRoute = std::vector<std::uint8_t>;  ///< output ports

/// A node, and the port of the node at which a packet is: the port through which it came in, or the port that sends it.
struct PacketPlace : subnet::LidOwner {
  unsigned port{};
  smp::PortState state{};
  bool is_switch() const { return node.node_type == smp::NodeType::switch_; }
  /// "0x0002c903000e0b72 'leaf01'"
  std::string called() const;
};

enum class TraceEnd : std::uint8_t {
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
std::string_view name(TraceEnd end);

struct TracedHop {
  unsigned out{};
  PacketPlace at;
};

struct PacketTrace {
  /// The way ends like that. Returns false.
  bool fail(TraceEnd how, std::string why, std::shared_ptr<const mad::MadError> cause = nullptr) {
    end = how;
    reason = std::move(why);
    error = std::move(cause);
    return false;
  }

  std::optional<PacketPlace> from, to;  ///< the source and the destination, if they answered
  std::vector<TracedHop> hops;
  TraceEnd end = TraceEnd::arrived;
  std::string reason;                          ///< of an end that is not `arrived`
  std::shared_ptr<const mad::MadError> error;  ///< of the request without which the end is unreachable, not_read or no_answer
  std::optional<TracedHop> stuck;              ///< the last hop, to a switch that does not forward the packet; not in `hops`
};

/// A step of a search, for those who follow it. Pointers are valid during the call.
struct TraceStep {
  enum class Event : std::uint8_t {
    forced,       ///< the search begins though the destination did not answer; `at` has only its LID
    inserted,     ///< multicast, as all below: node `at`, `level` hops from the source, was not met before and becomes branch `branch`
    taken,        ///< the search goes on from branch `branch`
    forwards,     ///< switch `at` sends the group by `port`
    skipped,      ///< the table of switch `at` is not known
    port_read,    ///< port `port` of the node at the end of `route` has `info`
    port_silent,  ///< this PortInfo was not read
    node_silent,  ///< the node at the end of `route`, to which `port` of the node before leads, does not answer
    met_again,    ///< switch `at` is reached a second time
    target,       ///< `at` is the destination
  };
  Event event{};
  const PacketPlace* at{};
  const DirectedRoute* route{};
  unsigned port{};
  const smp::PortInfo* info{};
  std::size_t branch{};
  unsigned level{};
};

struct TraceOptions {
  bool force{};    ///< treat two ports with one LID as one port, and go on if the destination does not answer
  bool from_sa{};  ///< the SA answers: LocalPortNum is not the port through which a request came in
  /// The destination is read before the way, which ends at its port GUID; else the way ends at a port that owns the LID, and the
  /// destination is read only if the way does not lead to it. Entries beyond LinearFDBTop count up to LinearFDBCap. Loops are followed
  /// until the route is too long. Default ports of a switch without an entry for a group do not count. A port of a multicast tree that does
  /// not answer ends the search.
  bool legacy{};
  std::function<void(const TraceStep&)> observe{};  ///< may be null
  path::Path here;                                  ///< the directed route to this host's own port; its keys and times are for all SMPs
};

class PacketTracer {
 public:
  /// `transactor` must outlive this.
  PacketTracer(mad::Transactor& transactor, TraceOptions options) : transactor_(transactor), options_(std::move(options)) {}

  /// The way of a packet to `to` from the node at the end of `from`. Afterwards `from` is the route to the end of the way.
  async::Task<PacketTrace> unicast(DirectedRoute& from, Lid to);
  /// The way of a packet to the group `mlid`, sent from the end of `from`, to the port at `to`.
  async::Task<PacketTrace> multicast(DirectedRoute from, Lid to, std::uint32_t mlid);

 private:
  class UnicastWalk;
  class MulticastWalk;

  static constexpr std::size_t longest_route = 62;  // the limit of infiniband-diags
  using Block = std::vector<std::uint8_t>;
  /// An attribute of the node at the end of a route or, if it is not zero, at a LID; and its modifier.
  using Question = std::tuple<DirectedRoute, Lid, const StructInfo*, std::uint32_t>;

  async::Task<mad::Result<sa::LinkRecord>> link(Lid from, std::uint8_t port);
  async::Task<mad::Result<Lid>> lid_in_sa(DirectedRoute route);
  async::Task<mad::Result<Block>> read(Question question);
  async::Task<> fetch(Question question);
  /// Fetches in parallel what the next steps need.
  async::Task<> fetch_all(std::vector<Question> questions);
  /// Sets error_ if there is no answer.
  template <class T>
  async::Task<std::optional<T>> get(DirectedRoute route, std::uint32_t modifier = 0, Lid lid = {}) {
    Question question(std::move(route), lid, &T::info(), modifier);
    co_await fetch(question);
    const mad::Result<Block>& answer = *answers_.find(question);
    if (answer) co_return T::unpack(*answer);
    error_ = answer.shared_error();
    co_return std::nullopt;
  }
  async::Task<std::optional<PacketPlace>> place(DirectedRoute route, Lid lid = {});
  /// With from_sa: sets the port of the switch `at` to the port that is linked to port `out` of the node at `from`.
  async::Task<> set_in_port(Lid from, unsigned out, PacketPlace& at);
  void observe(const TraceStep& step) const {
    if (options_.observe) options_.observe(step);
  }

  mad::Transactor& transactor_;
  TraceOptions options_;
  async::Once<Question, mad::Result<Block>> answers_{[](const mad::Result<Block>&) { return true; }};
  async::Once<std::pair<Lid, std::uint8_t>, mad::Result<sa::LinkRecord>> links_;
  std::shared_ptr<const mad::MadError> error_;  // of the last request that failed
};

}  // namespace ib::routing
