// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The multicast walk: level by level through the tree of a group, until the destination is met. The requests to the switches of a level,
// and to the ports beyond them, are sent in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "routing/packet_trace.hpp"
#include "subnet/sweep/smp_tables.hpp"

namespace ib::routing {
namespace {

constexpr std::size_t ports_at_once = 256;
constexpr unsigned most_levels = 63;
constexpr unsigned ports_per_mask = 16;

std::uint32_t mft_modifier(unsigned position, std::uint32_t mlid) {
  constexpr unsigned position_shift = 28, per_block = 32;
  return position << position_shift | (mlid - subnet::first_multicast_lid.value) / per_block;
}

}  // namespace

class PacketTracer::MulticastWalk {
 public:
  MulticastWalk(PacketTracer& tracer, DirectedRoute from, Lid to, std::uint32_t mlid)
      : tracer_(tracer), from_(std::move(from)), to_(to), mlid_(mlid) {}

  async::Task<PacketTrace> run() {
    const bool goes_on = co_await begin();
    if (goes_on) {
      for (unsigned level = 0; level < most_levels && !found_ && !broken_; ++level) co_await walk(level);
      if (!found_) {
        fail_without_way();
        co_await find_destination();
      }
    }
    if (found_) trace_way(*found_);
    co_return std::move(trace_);
  }

 private:
  using Event = TraceStep::Event;

  struct Branch {
    PacketPlace at;
    DirectedRoute route;     ///< to it
    std::size_t before = 0;  ///< the branch before it
    unsigned out{};          ///< of the branch before, the port that leads here
    unsigned level{};
    unsigned up_port{};  ///< towards the source; 0 at the source
  };

  void insert(Branch branch) {
    tracer_.observe({.event = Event::inserted, .at = &branch.at, .branch = branches_.size(), .level = branch.level});
    branches_.push_back(std::move(branch));
  }

  async::Task<> find_destination() {
    if (trace_.to) co_return;
    trace_.to = co_await tracer_.place(DirectedRoute(), to_);
    if (trace_.to) co_return;
    // The first that was not read is the cause.
    if (trace_.end != TraceEnd::not_read)
      trace_.fail(TraceEnd::unreachable, fmt::format("LID {} does not answer", to_.value), tracer_.error_);
  }

  /// The destination was not met. There is no way to it only if all of the tree is known.
  void fail_without_way() {
    if (cause_) {
      trace_.fail(TraceEnd::not_read, std::move(unread_), cause_);
    } else {
      trace_.fail(TraceEnd::no_way, loop_.empty() ? "Could not find a path through the multicast spanning tree." : std::move(loop_));
    }
  }

  /// Keeps the first part of the tree that was not read.
  void not_read(const PacketPlace& at, std::string_view what) {
    if (cause_) return;
    cause_ = tracer_.error_;
    unread_ = fmt::format("{} {} is not known: {}", what, at.called(), cause_->message());
  }

  bool is_target(const PacketPlace& at) const {
    if (!tracer_.options_.legacy) return at.owns(to_);
    return trace_.to && at.node.port_guid == trace_.to->node.port_guid;
  }

  async::Task<bool> begin() {
    if (tracer_.options_.legacy) co_await find_destination();
    trace_.from = co_await tracer_.place(from_);
    if (!trace_.from) co_return trace_.fail(TraceEnd::unreachable, "The source does not answer", tracer_.error_);
    const PacketPlace& at = *trace_.from;
    if (is_target(at)) {
      trace_.to = at;
      tracer_.observe({.event = Event::target, .at = &at});
      if (!at.is_switch()) co_return false;
      const std::optional<PortSet> out = co_await read_members(from_, at);
      if (cause_) {
        fail_without_way();
      } else if (!out || !out->has(0)) {
        trace_.fail(TraceEnd::no_way, fmt::format("{} is not a member of the group", to_text(at.node.node_guid)));
      }
      co_return false;
    }
    known_.insert(at.node.node_guid);
    insert({at, from_});
    co_return true;
  }

  /// The branches of one level, the last that was found first, as infiniband-diags keeps its lists.
  async::Task<> walk(unsigned level) {
    std::vector<std::size_t> now;
    for (std::size_t at = branches_.size(); at-- > 0;) {
      if (branches_[at].level == level) now.push_back(at);
    }
    co_await read_ahead(now);
    for (const std::size_t at : now) {
      co_await grow(at);
      if (found_ || broken_) co_return;
    }
  }

  async::Task<> read_ahead(std::vector<std::size_t> now) {
    std::vector<Question> questions;
    for (const std::size_t at : now) {
      const Branch& branch = branches_[at];
      if (!branch.at.is_switch() || mlid_ < subnet::first_multicast_lid.value) continue;
      questions.emplace_back(branch.route, Lid(), &smp::SwitchInfo::info(), 0);
      for (unsigned position = 0; position <= branch.at.node.num_ports / ports_per_mask; ++position)
        questions.emplace_back(branch.route, Lid(), &smp::MulticastForwardingTable::info(), mft_modifier(position, mlid_));
    }
    co_await tracer_.fetch_all(std::move(questions));
  }

  /// What is needed of a port of the tree and of the node at its other end.
  async::Task<> read_beyond(DirectedRoute route, unsigned port) {
    const std::optional<smp::PortInfo> info = co_await tracer_.get<smp::PortInfo>(route, port);
    if (!info || info->port_physical_state != smp::PortPhysicalState::link_up || route.size() >= longest_route) co_return;
    route.push_back(static_cast<std::uint8_t>(port));
    const std::optional<PacketPlace> place = co_await tracer_.place(std::move(route));
  }

  /// The ports by which switch `at` sends the group; nothing where it has no room for such a group, or does not answer.
  async::Task<std::optional<PortSet>> read_members(DirectedRoute route, const PacketPlace& at) {
    constexpr std::string_view what = "Where the group is sent by";
    const std::optional<smp::SwitchInfo> info = co_await tracer_.get<smp::SwitchInfo>(route);
    if (!info) not_read(at, what);
    const std::uint32_t entry = mlid_ - subnet::first_multicast_lid.value;
    if (!info || mlid_ < subnet::first_multicast_lid.value || entry >= info->multicast_fdb_cap) co_return std::nullopt;
    PortSet out;
    for (unsigned position = 0; position <= at.node.num_ports / ports_per_mask; ++position) {
      const std::uint32_t modifier = mft_modifier(position, mlid_);
      const std::optional<smp::MulticastForwardingTable> block = co_await tracer_.get<smp::MulticastForwardingTable>(route, modifier);
      if (!block) not_read(at, what);
      if (!block) co_return std::nullopt;
      const std::uint16_t mask = block->port_mask_block[entry % block->port_mask_block.size()];
      each_bit(mask, [&](unsigned bit) { out.add(position * ports_per_mask + bit); });
    }
    if (!tracer_.options_.legacy && out.words == PortSet().words) {
      for (const unsigned port : subnet::default_multicast_ports(*info, at.node.num_ports)) out.add(port);
    }
    out.each([&](unsigned port) { tracer_.observe({.event = Event::forwards, .at = &at, .port = port}); });
    co_return out;
  }

  async::Task<> grow(std::size_t at) {
    const Branch branch = branches_[at];
    tracer_.observe({.event = Event::taken, .at = &branch.at, .branch = at, .level = branch.level});
    if (!branch.at.is_switch()) {
      if (branch.level != 0) co_return;
      co_return co_await leave(at, branch);
    }
    const std::optional<PortSet> out = co_await read_members(branch.route, branch.at);
    if (!out) co_return tracer_.observe({.event = Event::skipped, .at = &branch.at});
    std::vector<unsigned> ports;
    for (unsigned port = 1; port <= branch.at.node.num_ports; ++port) {
      if (out->has(port) && port != branch.up_port) ports.push_back(port);
    }
    const auto fetch_one = [this, &branch](unsigned port) { return read_beyond(branch.route, port); };
    co_await async::for_each(ports, ports_at_once, fetch_one);
    for (const unsigned port : ports) {
      co_await cross(at, branch.route, port);
      if (found_ || broken_) co_return;
    }
  }

  /// From a channel adapter or router, by its port. Where the route came to it by a switch, this is one hop back.
  async::Task<> leave(std::size_t at, const Branch& branch) {
    if (branch.route.empty()) co_return co_await cross(at, branch.route, branch.at.port);
    DirectedRoute route = branch.route;
    leaf_port_ = route.back();
    route.pop_back();
    co_await add(at, std::move(route), branch.at.port);
  }

  async::Task<> cross(std::size_t at, DirectedRoute route, unsigned port) {
    const std::optional<smp::PortInfo> info = co_await tracer_.get<smp::PortInfo>(route, port);
    if (!info) {
      tracer_.observe({.event = Event::port_silent, .route = &route, .port = port});
      not_read(branches_[at].at, fmt::format("What is beyond port {} of", port));
      broken_ = tracer_.options_.legacy;
      co_return;
    }
    tracer_.observe({.event = Event::port_read, .route = &route, .port = port, .info = &*info});
    if (info->port_physical_state != smp::PortPhysicalState::link_up) co_return;
    broken_ = route.size() >= longest_route;
    if (broken_) co_return;
    route.push_back(static_cast<std::uint8_t>(port));
    co_await add(at, std::move(route), port);
  }

  /// The node at the end of `route`, which port `out` of branch `before` leads to.
  async::Task<> add(std::size_t before, DirectedRoute route, unsigned out) {
    std::optional<PacketPlace> place = co_await tracer_.place(route);
    if (!place) {
      tracer_.observe({.event = Event::node_silent, .route = &route, .port = out});
      not_read(branches_[before].at, fmt::format("What is beyond port {} of", out));
      co_return;
    }
    co_await tracer_.set_in_port(branches_[before].at.lid, out, *place);
    Branch branch{std::move(*place), std::move(route), before, out, branches_[before].level + 1};
    branch.up_port = entry(branch);
    if (is_target(branch.at)) {
      tracer_.observe({.event = Event::target, .at = &branch.at});
      branches_.push_back(std::move(branch));
      found_ = branches_.size() - 1;
    } else if (known_.insert(branch.at.node.node_guid).second) {
      insert(std::move(branch));
    } else if (branch.at.is_switch()) {
      tracer_.observe({.event = Event::met_again, .at = &branch.at});
      loop_ = fmt::format("Looping detected: the packet comes to {} again", to_text(branch.at.node.node_guid));
    }
  }

  /// The port by which the packet comes to a branch: of the switch at a channel adapter that was reached through it, the adapter's.
  unsigned entry(const Branch& branch) const { return branch.level == 1 && leaf_port_ != 0 ? leaf_port_ : branch.at.port; }

  void trace_way(std::size_t at) {
    trace_.end = TraceEnd::arrived;
    trace_.to = branches_[at].at;
    for (; branches_[at].level != 0; at = branches_[at].before) {
      trace_.hops.push_back({branches_[at].out, branches_[at].at});
      trace_.hops.back().at.port = branches_[at].up_port;
    }
    std::ranges::reverse(trace_.hops);
  }

  PacketTracer& tracer_;
  DirectedRoute from_;
  Lid to_;
  std::uint32_t mlid_;
  PacketTrace trace_;
  std::vector<Branch> branches_;
  std::set<Guid> known_;
  std::optional<std::size_t> found_;
  unsigned leaf_port_ = 0;
  std::shared_ptr<const mad::MadError> cause_;  // of what was not read of the tree; null if nothing is missing
  std::string unread_;                          // what this is, in words
  std::string loop_;                            // the switch that was met again, in words
  bool broken_{};
};

async::Task<PacketTrace> PacketTracer::multicast(DirectedRoute from, Lid to, std::uint32_t mlid) {
  MulticastWalk walk(*this, std::move(from), to, mlid);
  co_return co_await walk.run();
}

}  // namespace ib::routing
