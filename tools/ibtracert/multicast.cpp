// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The multicast walk: level by level through the tree of a group, until the destination is met. The requests to the switches of a level,
// and to the ports beyond them, are sent in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/ibtracert/tracer.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools::tracert {
namespace {

constexpr std::size_t requests_at_once = 256;
constexpr unsigned most_levels = 63;
constexpr unsigned ports_per_mask = 16;

std::uint32_t mft_modifier(unsigned position, std::uint32_t mlid) {
  constexpr unsigned position_shift = 28, per_block = 32;
  return position << position_shift | (mlid - subnet::first_multicast_lid.value) / per_block;
}

}  // namespace

struct PacketTracer::Branch {
  PacketPlace at;
  DirectedRoute route;     ///< to it
  unsigned up_port{};      ///< towards the source; 0 at the source
  std::size_t before = 0;  ///< the branch before it
  unsigned out{};          ///< of the branch before, the port that leads here
  unsigned level{};
};

async::Task<PacketTracer::Members> PacketTracer::members(DirectedRoute route, const smp::NodeInfo& node, std::uint32_t mlid) {
  const std::uint8_t ports = node.num_ports;
  const Bytes64* bytes = co_await get(route, Lid(), &smp::SwitchInfo::info(), 0);
  Members found;
  if (bytes == nullptr) {
    found.error = error_;
    co_return found;
  }
  const smp::SwitchInfo info = smp::SwitchInfo::unpack(*bytes);
  const std::uint32_t entry = mlid - subnet::first_multicast_lid.value;
  if (mlid < subnet::first_multicast_lid.value || entry >= info.multicast_fdb_cap) co_return found;
  for (unsigned position = 0; position <= ports / ports_per_mask; ++position) {
    bytes = co_await get(route, Lid(), &smp::MulticastForwardingTable::info(), mft_modifier(position, mlid));
    if (bytes == nullptr) {
      found.error = error_;
      co_return found;
    }
    const auto masks = smp::MulticastForwardingTable::unpack(*bytes).port_mask_block;
    for (unsigned bit = 0; bit < ports_per_mask; ++bit) {
      if ((masks[entry % masks.size()] >> bit & 1U) != 0) found.out.add(position * ports_per_mask + bit);
    }
  }
  found.known = true;
  if (options_.legacy || found.out.words != routing::PortSet().words) co_return found;
  for (const unsigned port : subnet::default_multicast_ports(info, ports)) found.out.add(port);
  co_return found;
}

class PacketTracer::MulticastWalk {
 public:
  MulticastWalk(PacketTracer& tracer, DirectedRoute from, Lid to, std::uint32_t mlid)
      : tracer_(tracer), from_(std::move(from)), to_(to), mlid_(mlid) {}

  async::Task<TracedWay> run() {
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
  void note(std::string_view text) const { tracer_.warn("find_mcpath", text); }

  void record(std::string_view of, std::string text, std::optional<PacketPlace> at = std::nullopt) {
    if (tracer_.options_.legacy) trace_.steps.push_back({of, std::move(text), std::move(at)});
  }

  /// The number that replaces the memory address of a branch, which infiniband-diags prints.
  static std::string address(std::size_t branch) { return fmt::format("0x{:012x}", branch + 1); }

  /// The next branch is `at`, `level` hops from the source.
  void report_insertion(const PacketPlace& at, unsigned level) {
    record("new_node", fmt::format("insert dist {} node {} port {} lid {}", level, address(branches_.size()), at.port, at.lid.value));
  }

  async::Task<> find_destination() {
    if (trace_.to) co_return;
    trace_.to = co_await tracer_.place(DirectedRoute(), to_);
    if (trace_.to) co_return;
    // The first that was not read is the cause.
    if (trace_.end != WayEnd::not_read) trace_.fail(WayEnd::unreachable, fmt::format("LID {} does not answer", to_.value));
  }

  /// The destination was not met. There is no way to it only if all of the tree is known.
  void fail_without_way() {
    if (trace_.error) {
      trace_.fail(WayEnd::not_read, std::move(unread_));
    } else {
      trace_.fail(WayEnd::no_way,
                  trace_.reason.empty() ? "Could not find a path through the multicast spanning tree." : std::move(trace_.reason));
    }
  }

  /// Keeps the first part of the tree that was not read.
  void not_read(const PacketPlace& at, std::string_view what, const std::shared_ptr<const mad::MadError>& error) {
    if (trace_.error) return;
    trace_.error = error;
    unread_ = fmt::format("{} {} {} is not known: {}", what, to_text(at.node.node_guid), in_quotes(at.description), error->message());
  }

  bool is_target(const PacketPlace& at) const {
    if (!tracer_.options_.legacy) return at.owns(to_);
    return trace_.to && at.node.port_guid == trace_.to->node.port_guid;
  }

  async::Task<bool> begin() {
    if (tracer_.options_.legacy) co_await find_destination();
    trace_.from = co_await tracer_.place(from_, Lid());
    if (!trace_.from) co_return trace_.fail(WayEnd::unreachable, "The source does not answer");
    const PacketPlace& at = *trace_.from;
    if (is_target(at)) {
      trace_.to = at;
      record({}, "found target", at);
      if (!at.is_switch()) co_return false;
      const Members members = co_await tracer_.members(from_, at.node, mlid_);
      report_members(at, members);
      if (members.error) {
        not_read(at, "Where the group is sent by", members.error);
        fail_without_way();
      } else if (!members.known || !members.out.has(0)) {
        trace_.fail(WayEnd::no_way, fmt::format("{} is not a member of the group", to_text(at.node.node_guid)));
      }
      co_return false;
    }
    report_insertion(at, 0);
    branches_.push_back({at, from_, 0, 0, 0, 0});
    known_.insert(at.node.node_guid);
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
    struct TableQuestion {
      DirectedRoute route;
      const StructInfo* info;
      std::uint32_t modifier;
    };
    std::vector<TableQuestion> questions;
    for (const std::size_t at : now) {
      const Branch& branch = branches_[at];
      if (!branch.at.is_switch() || mlid_ < subnet::first_multicast_lid.value) continue;
      questions.push_back({branch.route, &smp::SwitchInfo::info(), 0});
      for (unsigned position = 0; position <= branch.at.node.num_ports / ports_per_mask; ++position)
        questions.push_back({branch.route, &smp::MulticastForwardingTable::info(), mft_modifier(position, mlid_)});
    }
    const auto fetch_one = [this](const TableQuestion& question) {
      return tracer_.fetch(question.route, {}, question.info, question.modifier);
    };
    co_await async::for_each(questions, requests_at_once, fetch_one);
  }

  /// What is needed of a port of the tree and of the node at its other end.
  async::Task<> read_beyond(DirectedRoute route, unsigned port) {
    co_await tracer_.fetch(route, Lid(), &smp::PortInfo::info(), port);
    const mad::Result<Bytes64>& answer = *tracer_.answers_.find(AnswerKey{route, 0, smp::PortInfo::attribute_id, port});
    if (!answer || smp::PortInfo::unpack(*answer).port_physical_state != smp::PortPhysicalState::link_up || route.size() >= longest_route)
      co_return;
    route.push_back(static_cast<std::uint8_t>(port));
    co_await tracer_.fetch_place(std::move(route), {});
  }

  void report_members(const PacketPlace& at, const Members& members) {
    members.out.each([&](unsigned port) {
      record("switch_mclookup", fmt::format("Switch guid {:#x}: mlid {:#x} is forwarded to port {}", at.node.node_guid.value, mlid_, port));
    });
  }

  async::Task<> grow(std::size_t at) {
    const Branch branch = branches_[at];
    record("find_mcpath", fmt::format("dist {} node {}", branch.level, address(at)));
    record({}, "processing", branch.at);
    if (!branch.at.is_switch()) {
      if (branch.level != 0) co_return;
      co_return co_await leave(at, branch);
    }
    const Members members = co_await tracer_.members(branch.route, branch.at.node, mlid_);
    report_members(branch.at, members);
    if (!members.known) {
      if (members.error) not_read(branch.at, "Where the group is sent by", members.error);
      note(fmt::format("skipping bad Switch {:#x}", branch.at.node.node_guid.value));
      co_return;
    }
    std::vector<unsigned> ports;
    for (unsigned port = 1; port <= branch.at.node.num_ports; ++port) {
      if (members.out.has(port) && port != branch.up_port) ports.push_back(port);
    }
    const auto fetch_one = [this, &branch](unsigned port) { return read_beyond(branch.route, port); };
    co_await async::for_each(ports, requests_at_once, fetch_one);
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
    const Bytes64* const bytes = co_await tracer_.get(route, Lid(), &smp::PortInfo::info(), port);
    if (bytes == nullptr) {
      note(fmt::format("can't reach node {} port {}", libibnetdisc_route(route), port));
      not_read(branches_[at].at, fmt::format("What is beyond port {} of", port), tracer_.error_);
      broken_ = tracer_.options_.legacy;
      co_return;
    }
    const smp::PortInfo info = smp::PortInfo::unpack(*bytes);
    record("get_port", fmt::format("portid {} portnum {}: lid {} state {} physstate {}", libibnetdisc_route(route), port, info.lid.value,
                                   static_cast<unsigned>(info.port_state), static_cast<unsigned>(info.port_physical_state)));
    if (info.port_physical_state != smp::PortPhysicalState::link_up) co_return;
    if (route.size() >= longest_route) {
      broken_ = true;
      co_return;
    }
    route.push_back(static_cast<std::uint8_t>(port));
    co_await add(at, std::move(route), port);
  }

  /// The node at the end of `route`, which port `out` of branch `before` leads to.
  async::Task<> add(std::size_t before, DirectedRoute route, unsigned out) {
    std::optional<PacketPlace> place = co_await tracer_.place(route, Lid());
    if (!place) {
      note(fmt::format("NodeInfo on {} port {} failed, skipping port", libibnetdisc_route(route), out));
      not_read(branches_[before].at, fmt::format("What is beyond port {} of", out), tracer_.error_);
      co_return;
    }
    co_await tracer_.set_in_port(branches_[before].at.lid, out, *place);
    Branch branch{std::move(*place), std::move(route), 0, before, out, branches_[before].level + 1};
    branch.up_port = entry(branch);
    if (is_target(branch.at)) {
      record({}, "found target", branch.at);
      branches_.push_back(std::move(branch));
      found_ = branches_.size() - 1;
      co_return;
    }
    if (known_.insert(branch.at.node.node_guid).second) {
      report_insertion(branch.at, branch.level);
      record({}, "new remote", branch.at);
      branches_.push_back(std::move(branch));
      co_return;
    }
    if (branch.at.is_switch()) {
      record({}, {}, branch.at);
      trace_.reason = fmt::format("Looping detected: the packet comes to {} again", to_text(branch.at.node.node_guid));
    }
  }

  /// The port by which the packet comes to a branch: of the switch at a channel adapter that was reached through it, the adapter's.
  unsigned entry(const Branch& branch) const { return branch.level == 1 && leaf_port_ != 0 ? leaf_port_ : branch.at.port; }

  void trace_way(std::size_t at) {
    trace_.end = WayEnd::arrived;
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
  TracedWay trace_;
  std::vector<Branch> branches_;
  std::set<Guid> known_;
  std::optional<std::size_t> found_;
  unsigned leaf_port_ = 0;
  std::string unread_;  // what was not read of the tree, with trace_.error
  bool broken_{};
};

async::Task<TracedWay> PacketTracer::multicast(DirectedRoute from, Lid to, std::uint32_t mlid) {
  MulticastWalk walk(*this, std::move(from), to, mlid);
  co_return co_await walk.run();
}

}  // namespace ib::tools::tracert
