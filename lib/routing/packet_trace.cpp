// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The requests, and the unicast walk. The attributes of a node are requested in parallel.
#include "routing/packet_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "sa/records.hpp"

namespace ib::routing {
namespace {

constexpr unsigned most_trace_hops = 63;
constexpr std::size_t requests_at_once = 256;

}  // namespace

std::string PacketPlace::called() const { return fmt::format("{} {}", to_text(node.node_guid), in_quotes(description.value_or(""))); }

std::string_view name(TraceEnd end) {
  constexpr std::array<std::string_view, 10> names{"arrived",   "unreachable", "no_entry", "not_read", "not_active",
                                                   "no_answer", "wrong_port",  "loop",     "too_long", "no_way"};
  static_assert(static_cast<std::size_t>(TraceEnd::no_way) + 1 == names.size());
  return names[static_cast<std::size_t>(end)];
}

async::Task<mad::Result<sa::LinkRecord>> PacketTracer::link(Lid from, std::uint8_t port) {
  return links_.get({from, port}, sa::find_link(transactor_, from, port));
}

/// The LID at the end of a route, by the SA's links.
async::Task<mad::Result<Lid>> PacketTracer::lid_in_sa(DirectedRoute route) {
  Lid at = transactor_.end_port().lid;
  for (const std::uint8_t port : route) {
    const mad::Result<sa::LinkRecord> next = co_await link(at, port);
    if (!next) co_return next.shared_error();
    at = sa::end_of(*next);
  }
  co_return at;
}

async::Task<mad::Result<PacketTracer::Block>> PacketTracer::read(Question question) {
  auto& [route, lid, info, modifier] = question;
  if (options_.from_sa && lid == Lid{}) {
    const mad::Result<Lid> owner = co_await lid_in_sa(route);
    if (!owner) co_return owner.shared_error();
    lid = *owner;
  }
  path::IbPath by_lid = options_.here.ib();
  by_lid.slid = by_lid.end_port->lid;
  by_lid.dlid = lid;
  path::IbDrPath directed = *options_.here.directed();
  for (const std::uint8_t port : route) directed.route[++directed.hops] = port;
  const path::Path path = lid == Lid{} ? path::Path(directed) : path::Path(by_lid);
  co_return co_await transactor_.try_get(path, *info, modifier);
}

async::Task<> PacketTracer::fetch(Question question) {
  async::Task<mad::Result<Block>> reading = read(question);
  reading = answers_.get(std::move(question), std::move(reading));
  const mad::Result<Block> answer = co_await std::move(reading);
}

async::Task<> PacketTracer::fetch_all(std::vector<Question> questions) {
  const auto fetch_one = [this](const Question& question) { return fetch(question); };
  co_await async::for_each(questions, requests_at_once, fetch_one);
}

async::Task<std::optional<PacketPlace>> PacketTracer::place(DirectedRoute route, Lid lid) {
  std::vector<Question> questions;
  for (const StructInfo* info : {&smp::NodeInfo::info(), &smp::NodeDescription::info(), &smp::PortInfo::info()})
    questions.emplace_back(route, lid, info, 0);
  co_await fetch_all(std::move(questions));
  const std::optional<smp::NodeInfo> node = co_await get<smp::NodeInfo>(route, 0, lid);
  if (!node) co_return std::nullopt;
  const std::optional<smp::NodeDescription> description = co_await get<smp::NodeDescription>(route, 0, lid);
  if (!description) co_return std::nullopt;
  const std::optional<smp::PortInfo> port = co_await get<smp::PortInfo>(route, 0, lid);
  if (!port) co_return std::nullopt;
  const subnet::LidOwner owner{*node, std::string(fixed_text(description->node_string)), port->lid, port->lmc};
  PacketPlace found{owner, node->local_port_num, port->port_state};
  co_return found;
}

async::Task<> PacketTracer::set_in_port(Lid from, unsigned out, PacketPlace& at) {
  if (!options_.from_sa || !at.is_switch()) co_return;
  const mad::Result<sa::LinkRecord> crossed = co_await link(from, static_cast<std::uint8_t>(out));
  if (crossed) at.port = crossed->to_port;
}

class PacketTracer::UnicastWalk {
 public:
  UnicastWalk(PacketTracer& tracer, DirectedRoute& from, Lid to) : tracer_(tracer), route_(from), to_(to) {}

  async::Task<PacketTrace> run() {
    bool goes_on = co_await begin();
    unsigned left = most_trace_hops;
    for (; goes_on && left > 0; --left) goes_on = co_await step();
    if (left == 0 && trace_.end == TraceEnd::arrived)
      trace_.fail(TraceEnd::too_long, fmt::format("The way is longer than {} hops", most_trace_hops));
    if (trace_.end != TraceEnd::arrived && !tracer_.options_.legacy && trace_.from) {
      trace_.to = co_await tracer_.place(DirectedRoute(), to_);
      if (!trace_.to && !tracer_.options_.force && trace_.end != TraceEnd::not_read) {
        trace_.hops.clear();
        trace_.stuck.reset();
        fail_unreachable();
      }
    }
    co_return std::move(trace_);
  }

 private:
  bool fail_unreachable() {
    return trace_.fail(TraceEnd::unreachable, trace_.from ? fmt::format("LID {} does not answer", to_.value) : "The source does not answer",
                       tracer_.error_);
  }

  bool is_same(const PacketPlace& a, const PacketPlace& b) const {
    return a.node.port_guid == b.node.port_guid || (tracer_.options_.force && a.lid == b.lid);
  }
  bool is_target(const PacketPlace& at) const { return tracer_.options_.legacy ? is_same(at, target_) : at.owns(to_); }
  /// Whether packets pass. Sets the end of the way if not. Port 0 of a switch counts where it is enhanced.
  bool check_active(const PacketPlace& at) {
    if (at.state == smp::PortState::active || (at.is_switch() && !lookup_.enhanced_port0)) return true;
    return trace_.fail(TraceEnd::not_active, fmt::format("Port {} of {} is not Active", at.port, at.called()));
  }

  bool fail_at_table(const PacketPlace& at) {
    if (lookup_.kind == EntryKind::not_read) {
      return trace_.fail(TraceEnd::not_read,
                         fmt::format("Where {} sends LID {} is not known: {}", at.called(), to_.value, tracer_.error_->message()),
                         tracer_.error_);
    }
    const std::string_view names = lookup_.kind == EntryKind::own_port   ? "its own port"
                                   : lookup_.port == subnet::no_out_port ? "no way"
                                                                         : "a port that it does not have";
    const std::string entry = lookup_.port ? fmt::format("has the entry {}, {},", *lookup_.port, names) : "has no entry";
    return trace_.fail(TraceEnd::no_entry, fmt::format("{} {} for LID {}", at.called(), entry, to_.value));
  }

  async::Task<bool> begin() {
    trace_.from = co_await tracer_.place(route_);
    const bool reads_target = tracer_.options_.legacy;
    if (trace_.from && reads_target) trace_.to = co_await tracer_.place(DirectedRoute(), to_);
    target_ = trace_.to.value_or(PacketPlace());
    if (!trace_.from || (reads_target && !trace_.to)) {
      if (!tracer_.options_.force) co_return fail_unreachable();
      target_.lid = to_;
      tracer_.observe({.event = TraceStep::Event::forced, .at = &target_});
    }
    at_ = trace_.from.value_or(PacketPlace());
    if (at_.is_switch()) co_return co_await look_up_at(at_);
    co_return true;
  }

  /// Reads where the switch `at`, at the end of the route, sends the packet.
  async::Task<bool> look_up_at(const PacketPlace& at) {
    const std::uint32_t block = to_.value / LinearTables::per_block;
    std::vector<Question> questions;
    questions.emplace_back(route_, Lid(), &smp::SwitchInfo::info(), 0);
    questions.emplace_back(route_, Lid(), &smp::LinearForwardingTable::info(), block);
    co_await tracer_.fetch_all(std::move(questions));
    lookup_ = {};
    const std::optional<smp::SwitchInfo> info = co_await tracer_.get<smp::SwitchInfo>(route_);
    if (!info) co_return fail_at_table(at);
    lookup_ = {std::nullopt, EntryKind::no_entry, info->enhanced_port0 != 0};
    // A switch forwards nothing behind LinearFDBTop.
    const bool exists = to_.value <= info->linear_fdb_top || (tracer_.options_.legacy && to_.value < info->linear_fdb_cap);
    if (!exists) co_return fail_at_table(at);
    const std::optional<smp::LinearForwardingTable> ports = co_await tracer_.get<smp::LinearForwardingTable>(route_, block);
    if (ports) lookup_.port = ports->port_block[to_.value % LinearTables::per_block];
    lookup_.kind = entry_kind(lookup_.port, at.node.num_ports);
    co_return lookup_.kind == EntryKind::own_port || lookup_.kind == EntryKind::port || fail_at_table(at);
  }

  async::Task<bool> step() {
    if (!check_active(at_)) co_return false;
    if (is_target(at_)) {
      trace_.to = at_;
      co_return false;
    }
    const unsigned out = at_.is_switch() ? *lookup_.port : at_.port;
    std::optional<unsigned> in;
    if (!at_.is_switch() && !may_leave(in)) co_return false;
    const bool extends = !in && (out != 0 || at_.is_switch());
    if (extends && route_.size() < longest_route) {
      route_.push_back(static_cast<std::uint8_t>(out));
    } else if (extends) {
      co_return trace_.fail(TraceEnd::too_long, "The way is longer than a directed route can be");
    }
    std::optional<PacketPlace> next = co_await tracer_.place(route_);
    if (!next) {
      co_return trace_.fail(TraceEnd::no_answer, fmt::format("No answer from the other end of port {} of {}", out, at_.called()),
                            tracer_.error_);
    }
    if (at_.is_switch() && out == 0) {
      trace_.to = at_;
      co_return is_target(*next) ? false : fail_at_table(at_);
    }
    co_await tracer_.set_in_port(at_.lid, out, *next);
    if (in) next->port = *in;
    if (next->is_switch()) {
      const bool found = co_await look_up_at(*next);
      if (!found) trace_.stuck = TracedHop{out, *next};
      if (!found) co_return false;
    }
    if (!check_active(*next)) co_return false;
    at_ = *next;
    trace_.hops.push_back({out, std::move(*next)});
    if (tracer_.options_.legacy || !at_.is_switch() || seen_.insert(at_.node.node_guid).second) co_return true;
    co_return trace_.fail(TraceEnd::loop, fmt::format("Looping detected: the packet comes to {} again", at_.called()));
  }

  /// Goes on from a channel adapter or router: only from the source, by its port. Where the route came to it by a switch, one hop back is
  /// this switch, and `in` its port.
  bool may_leave(std::optional<unsigned>& in) {
    const smp::NodeType type = at_.node.node_type;
    const bool is_end_node = type == smp::NodeType::channel_adapter || type == smp::NodeType::router;
    if (!is_end_node || !trace_.from || !is_same(at_, *trace_.from)) {
      return trace_.fail(TraceEnd::wrong_port,
                         fmt::format("Reached end port {} which is not the requested destination", to_text(at_.node.port_guid)));
    }
    if (route_.empty()) return true;
    in = route_.back();
    route_.pop_back();
    return true;
  }

  PacketTracer& tracer_;
  DirectedRoute& route_;
  Lid to_;
  PacketTrace trace_;
  PacketPlace at_, target_;
  /// Where the last switch sends the packet.
  struct {
    std::optional<std::uint8_t> port;  ///< the output port in the table; nothing if it has no such entry or was not read
    EntryKind kind{};
    bool enhanced_port0{};
  } lookup_;
  std::set<Guid> seen_;
};

async::Task<PacketTrace> PacketTracer::unicast(DirectedRoute& from, Lid to) {
  UnicastWalk walk(*this, from, to);
  co_return co_await walk.run();
}

}  // namespace ib::routing
