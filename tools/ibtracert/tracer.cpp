// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The requests, and the unicast walk. The attributes of a node are requested in parallel.
#include "tools/ibtracert/tracer.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "sa/records.hpp"

namespace ib::tools::tracert {
namespace {

constexpr int most_hops = 63;
const std::array<const StructInfo*, 3> place_attributes{&smp::NodeInfo::info(), &smp::NodeDescription::info(), &smp::PortInfo::info()};

std::string called(const PacketPlace& at) { return fmt::format("{} {}", to_text(at.node.node_guid), in_quotes(at.description)); }

}  // namespace

std::string_view name(WayEnd end) {
  constexpr std::array<std::string_view, 10> names{"arrived",   "unreachable", "no_entry", "not_read", "not_active",
                                                   "no_answer", "wrong_port",  "loop",     "too_long", "no_way"};
  static_assert(static_cast<std::size_t>(WayEnd::no_way) + 1 == names.size());
  return names[static_cast<std::size_t>(end)];
}

path::Path PacketTracer::path_to(const DirectedRoute& route, Lid lid) const {
  if (lid.value != 0) {
    path::IbPath path = options_.by_lid;
    path.dlid = lid;
    return path;
  }
  path::IbDrPath path = *options_.here.directed();
  for (const std::uint8_t port : route) path.route[++path.hops] = port;
  return path;
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

async::Task<mad::Result<PacketTracer::Bytes64>> PacketTracer::read(DirectedRoute route, Lid lid, const StructInfo* info,
                                                                   std::uint32_t modifier) {
  if (options_.from_sa && lid.value == 0) {
    const mad::Result<Lid> owner = co_await lid_in_sa(route);
    if (!owner) co_return owner.shared_error();
    lid = *owner;
  }
  const path::Path path = path_to(route, lid);
  co_return co_await transactor_.try_get(path, *info, modifier);
}

async::Task<> PacketTracer::fetch(DirectedRoute route, Lid lid, const StructInfo* info, std::uint32_t modifier) {
  async::Task<mad::Result<Bytes64>> fetching = read(route, lid, info, modifier);
  AnswerKey key{std::move(route), lid.value, info->attribute_id, modifier};
  fetching = answers_.get(std::move(key), std::move(fetching));
  const mad::Result<Bytes64> answer = co_await std::move(fetching);
}

async::Task<const PacketTracer::Bytes64*> PacketTracer::get(DirectedRoute route, Lid lid, const StructInfo* info, std::uint32_t modifier) {
  co_await fetch(route, lid, info, modifier);
  const mad::Result<Bytes64>& answer = *answers_.find(AnswerKey{route, lid.value, info->attribute_id, modifier});
  if (answer) co_return &*answer;
  error_ = answer.shared_error();
  co_return nullptr;
}

async::Task<> PacketTracer::fetch_place(DirectedRoute route, Lid lid) {
  const auto fetch_one = [&](const StructInfo* info) { return fetch(route, lid, info, 0); };
  co_await async::for_each(place_attributes, place_attributes.size(), fetch_one);
}

async::Task<std::optional<PacketPlace>> PacketTracer::place(DirectedRoute route, Lid lid) {
  co_await fetch_place(route, lid);
  std::array<const Bytes64*, 3> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = co_await get(route, lid, place_attributes[i], 0);
    if (bytes[i] == nullptr) co_return std::nullopt;
  }
  PacketPlace found;
  found.node = smp::NodeInfo::unpack(*bytes[0]);
  found.description = std::string(fixed_text(*bytes[1]));
  const smp::PortInfo port = smp::PortInfo::unpack(*bytes[2]);
  found.port = found.node.local_port_num;
  found.lid = port.lid;
  found.lmc = port.lmc;
  found.state = port.port_state;
  co_return found;
}

routing::EntryKind PacketTracer::Lookup::kind(const PacketPlace& at) const {
  const auto entry = port < 0 ? subnet::no_out_port : static_cast<std::uint8_t>(port);
  return routing::entry_kind(error ? std::nullopt : std::optional(entry), at.node.num_ports);
}

async::Task<PacketTracer::Lookup> PacketTracer::look_up(DirectedRoute route, Lid to) {
  constexpr unsigned per_block = 64;
  const unsigned block = to.value / per_block;
  const StructInfo* const tables = &smp::LinearForwardingTable::info();
  const std::array<const StructInfo*, 2> both{&smp::SwitchInfo::info(), tables};
  const auto fetch_one = [&](const StructInfo* info) { return fetch(route, {}, info, info == tables ? block : 0); };
  co_await async::for_each(both, both.size(), fetch_one);
  const Bytes64* bytes = co_await get(route, Lid(), &smp::SwitchInfo::info(), 0);
  Lookup found;
  if (bytes == nullptr) {
    found.error = error_;
    co_return found;
  }
  const smp::SwitchInfo info = smp::SwitchInfo::unpack(*bytes);
  found.enhanced_port0 = info.enhanced_port0 != 0;
  // A switch forwards nothing behind LinearFDBTop.
  if (to.value > info.linear_fdb_top && !(options_.legacy && to.value < info.linear_fdb_cap)) co_return found;
  bytes = co_await get(route, Lid(), tables, block);
  if (bytes != nullptr) {
    found.port = (*bytes)[to.value % per_block];
  } else {
    found.error = error_;
  }
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

  async::Task<TracedWay> run() {
    co_await walk();
    if (trace_.end != WayEnd::arrived && !tracer_.options_.legacy && trace_.from) {
      trace_.to = co_await tracer_.place(DirectedRoute(), to_);
      if (!trace_.to && !tracer_.options_.force && trace_.end != WayEnd::not_read) {
        trace_.hops.clear();
        trace_.stuck.reset();
        fail_unreachable();
      }
    }
    co_return std::move(trace_);
  }

 private:
  async::Task<> walk() {
    bool goes_on = co_await begin();
    int left = most_hops;
    for (; goes_on && left > 0; --left) goes_on = co_await step();
    if (left == 0 && trace_.end == WayEnd::arrived) trace_.fail(WayEnd::too_long, fmt::format("The way is longer than {} hops", most_hops));
  }

  bool fail_unreachable() {
    return trace_.fail(WayEnd::unreachable, trace_.from ? fmt::format("LID {} does not answer", to_.value) : "The source does not answer");
  }

  bool is_same(const PacketPlace& a, const PacketPlace& b) const {
    return a.node.port_guid == b.node.port_guid || (tracer_.options_.force && a.lid == b.lid);
  }
  bool is_target(const PacketPlace& at) const { return tracer_.options_.legacy ? is_same(at, target_) : at.owns(to_); }
  /// Whether packets do not pass. Port 0 of a switch counts where it is enhanced.
  bool is_inactive(const PacketPlace& at) const {
    return at.state != smp::PortState::active && (!at.is_switch() || lookup_.enhanced_port0);
  }

  bool bad_table(const PacketPlace& at, int port) {
    const routing::EntryKind kind = lookup_.kind(at);
    const bool not_read = kind == routing::EntryKind::not_read;
    const std::string_view names = kind == routing::EntryKind::own_port ? "its own port"
                                   : port == subnet::no_out_port        ? "no way"
                                                                        : "a port that it does not have";
    const std::string entry = port < 0 ? "has no entry" : fmt::format("has the entry {}, {},", port, names);
    trace_.error = lookup_.error;
    return trace_.fail(not_read ? WayEnd::not_read : WayEnd::no_entry,
                       not_read ? fmt::format("Where {} sends LID {} is not known: {}", called(at), to_.value, lookup_.error->message())
                                : fmt::format("{} {} for LID {}", called(at), entry, to_.value));
  }

  async::Task<bool> begin() {
    trace_.from = co_await tracer_.place(route_, Lid());
    const bool reads_target = tracer_.options_.legacy;
    if (trace_.from && reads_target) trace_.to = co_await tracer_.place(DirectedRoute(), to_);
    target_ = trace_.to.value_or(PacketPlace());
    if (!trace_.from || (reads_target && !trace_.to)) {
      if (!tracer_.options_.force) co_return fail_unreachable();
      target_.lid = to_;
      tracer_.warn("find_route", fmt::format("Force: look for lid {}", to_.value));
    }
    at_ = trace_.from.value_or(PacketPlace());
    if (at_.is_switch()) co_return co_await look_up_at(at_);
    co_return true;
  }

  /// Reads where the switch `at`, at the end of the route, sends the packet.
  async::Task<bool> look_up_at(const PacketPlace& at) {
    lookup_ = co_await tracer_.look_up(route_, to_);
    const routing::EntryKind kind = lookup_.kind(at);
    co_return kind == routing::EntryKind::own_port || kind == routing::EntryKind::port ? true : bad_table(at, lookup_.port);
  }

  async::Task<bool> step() {
    if (is_inactive(at_)) {
      co_return trace_.fail(WayEnd::not_active, fmt::format("Port {} of {} is not Active", at_.port, called(at_)));
    }
    if (is_target(at_)) {
      trace_.to = at_;
      co_return false;
    }
    const int out = at_.is_switch() ? lookup_.port : static_cast<int>(at_.port);
    std::optional<unsigned> in;
    if (!at_.is_switch() && !may_leave(in)) co_return false;
    const bool extends = !in && (out != 0 || at_.is_switch());
    if (extends && route_.size() < longest_route) {
      route_.push_back(static_cast<std::uint8_t>(out));
    } else if (extends) {
      co_return trace_.fail(WayEnd::too_long, "The way is longer than a directed route can be");
    }
    std::optional<PacketPlace> next = co_await tracer_.place(route_, Lid());
    if (!next) {
      co_return trace_.fail(WayEnd::no_answer, fmt::format("No answer from the other end of port {} of {}", out, called(at_)));
    }
    if (at_.is_switch() && out == 0) {
      trace_.to = at_;
      co_return is_target(*next) ? false : bad_table(at_, out);
    }
    co_await tracer_.set_in_port(at_.lid, static_cast<unsigned>(out), *next);
    if (in) next->port = *in;
    if (next->is_switch()) {
      const bool found = co_await look_up_at(*next);
      if (!found) trace_.stuck = TracedHop{static_cast<unsigned>(out), *next};
      if (!found) co_return false;
    }
    if (is_inactive(*next)) {
      co_return trace_.fail(WayEnd::not_active, fmt::format("Port {} of {} is not Active", next->port, called(*next)));
    }
    at_ = *next;
    trace_.hops.push_back({static_cast<unsigned>(out), std::move(*next)});
    co_return check_loop();
  }

  /// Goes on from a channel adapter or router: only from the source, by its port. Where the route came to it by a switch, one hop back is
  /// this switch, and `in` its port.
  bool may_leave(std::optional<unsigned>& in) {
    if (!at_.is_end_node() || !trace_.from || !is_same(at_, *trace_.from)) {
      return trace_.fail(WayEnd::wrong_port,
                         fmt::format("Reached end port {} which is not the requested destination", to_text(at_.node.port_guid)));
    }
    if (route_.empty()) return true;
    in = route_.back();
    route_.pop_back();
    return true;
  }

  bool check_loop() {
    if (tracer_.options_.legacy || !at_.is_switch()) return true;
    if (seen_.insert(at_.node.node_guid).second) return true;
    return trace_.fail(WayEnd::loop, fmt::format("Looping detected: the packet comes to {} again", called(at_)));
  }

  PacketTracer& tracer_;
  DirectedRoute& route_;
  Lid to_;
  TracedWay trace_;
  PacketPlace at_, target_;
  Lookup lookup_;
  std::set<Guid> seen_;
};

async::Task<TracedWay> PacketTracer::unicast(DirectedRoute& from, Lid to) {
  UnicastWalk walk(*this, from, to);
  co_return co_await walk.run();
}

}  // namespace ib::tools::tracert
