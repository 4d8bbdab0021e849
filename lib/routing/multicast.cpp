// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/multicast.hpp"

#include <algorithm>
#include <numeric>

#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"

namespace ib::routing {

/// The switches reached by packets that enter the network at one switch.
struct Multicast::Flood {
  std::vector<bool> reached;      // by entry
  std::vector<std::size_t> lost;  // members that get nothing
  bool meets_unread{};
};

void Multicast::add(Lid mlid) {
  ++groups_;
  entries_ = tables_.entries(mlid);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) entry_of_[entries_[i].at] = i;
  check_entries(mlid);
  check_tree(mlid);
  check_members(mlid);
  for (const MulticastEntry& entry : entries_) entry_of_[entry.at] = none;
}

void Multicast::check_entries(Lid mlid) {
  for (const MulticastEntry& entry : entries_) {
    const Switch& at = network_.switches()[entry.at];
    entry.ports.each([&](unsigned port) {
      if (port >= at.slots) cause(mlid, Fault::no_entry, at.first_port_id, {port}).missing_port = static_cast<std::uint8_t>(port);
    });
    each_wire(network_, entry, [&](unsigned port, const Wire& wire) {
      if (!wire.carries()) {
        cause(mlid, wire.to == Wire::To::silent ? Fault::not_read : Fault::dead_port, at.first_port_id + port);
      }
      if (wire.to != Wire::To::switch_port || entry_of_[wire.index] != none) return;
      const Fault fault = tables_.is_known(wire.index) ? Fault::no_entry : Fault::not_read;
      cause(mlid, fault, network_.port_id(wire.index, 0));
    });
  }
}

/// The node of a switch in the tree: its entry, or one of its own if its table was not read; none if it is known to have no entry.
std::uint32_t Multicast::tree_node(SwitchIndex at) {
  if (entry_of_[at] != none) return entry_of_[at];
  if (tables_.is_known(at)) return none;
  const auto unread = tree_.begin() + static_cast<std::ptrdiff_t>(entries_.size());
  const auto known = std::find(unread, tree_.end(), at);
  if (known == tree_.end()) {
    tree_.push_back(at);
    return static_cast<std::uint32_t>(tree_.size() - 1);
  }
  return static_cast<std::uint32_t>(known - tree_.begin());
}

/// Joins the switches of the group link by link. A link between two switches that are joined already closes a loop. A switch whose table
/// was not read is reached by the entries of its neighbours: two such entries are two paths to it.
void Multicast::check_tree(Lid mlid) {
  std::vector<std::uint32_t> root(entries_.size());
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&root](std::uint32_t at) {
    while (root[at] != at) at = root[at] = root[root[at]];
    return at;
  };
  tree_.clear();
  for (const MulticastEntry& entry : entries_) tree_.push_back(entry.at);
  links_.clear();
  is_one_way_ = false;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    each_wire(network_, entries_[i], [&](unsigned port, const Wire& wire) {
      if (wire.to != Wire::To::switch_port) return;
      const std::uint32_t peer = tree_node(wire.index);
      if (peer == none) return;
      if (peer >= root.size()) root.push_back(peer);
      // A link that both switches name counts once: for the lower one, or, for a cable from a switch to itself, the lower port.
      const bool is_read = peer < entries_.size();
      const bool is_mutual = is_read && entries_[peer].ports.has(wire.in_port);
      is_one_way_ = is_one_way_ || (is_read && !is_mutual);
      if (is_mutual && (peer < i || (peer == i && wire.in_port < port))) return;
      if (find(i) != find(peer)) {
        root[find(i)] = find(peer);
        links_.push_back({i, peer});
      } else if (loops_.insert(mlid.value).second) {
        cause(mlid, Fault::loop, none, cycle_through({i, peer}));
      }
    });
  }
}

/// The switches on the route between the two ends of `last`, which are joined already.
std::vector<SwitchIndex> Multicast::cycle_through(Link last) const {
  std::vector<std::vector<std::uint32_t>> next(tree_.size());
  for (const Link& link : links_) {
    next[link.a].push_back(link.b);
    next[link.b].push_back(link.a);
  }
  std::vector<std::uint32_t> before(tree_.size(), none), queue{last.a};
  before[last.a] = last.a;
  for (std::size_t head = 0; head < queue.size() && before[last.b] == none; ++head) {
    for (const std::uint32_t peer : next[queue[head]]) {
      if (before[peer] != none) continue;
      before[peer] = queue[head];
      queue.push_back(peer);
    }
  }
  std::vector<SwitchIndex> cycle;
  for (std::uint32_t at = last.b; at != last.a; at = before[at]) cycle.push_back(tree_[at]);
  cycle.push_back(tree_[last.a]);
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  return cycle;
}

std::vector<Member> Multicast::members_of(Lid mlid) const {
  if (known_ != nullptr && known_->members.contains(mlid.value)) return known_->members.at(mlid.value);
  std::vector<Member> found;
  for (const MulticastEntry& entry : tables_.entries(mlid)) {
    if (entry.ports.has(0)) found.push_back({none, entry.at});
    each_wire(network_, entry, [&](unsigned /*port*/, const Wire& wire) {
      if (wire.to == Wire::To::host) found.push_back({wire.index, none});
    });
  }
  return found;
}

void Multicast::check_members(Lid mlid) {
  const std::vector<Member> members = members_of(mlid);
  members_ += members.size();
  std::map<SwitchIndex, std::size_t> flood_of;
  std::vector<Flood> floods;
  for (const Member& sender : members) {
    const SwitchIndex first = switch_of(sender);
    if (!sender.sends || first == none) continue;
    const auto [known, is_new] = flood_of.try_emplace(first, floods.size());
    if (is_new) {
      // Where all links lead both routes, packets come to the same switches wherever among these they begin.
      const std::uint32_t entry = entry_of_[first];
      const auto same =
          is_one_way_ || entry == none ? floods.end() : std::ranges::find_if(floods, [&](const Flood& f) { return f.reached[entry]; });
      if (same == floods.end()) {
        floods.push_back(flood_from(first, members));
      } else {
        known->second = static_cast<std::size_t>(same - floods.begin());
      }
    }
    count_lost(mlid, floods[known->second], members, sender);
  }
}

Multicast::Flood Multicast::flood_from(SwitchIndex first, const std::vector<Member>& members) {
  Flood flood{std::vector<bool>(entries_.size()), {}, false};
  std::vector<std::uint32_t> queue;
  if (entry_of_[first] == none) {
    flood.meets_unread = !tables_.is_known(first);
  } else {
    queue.push_back(entry_of_[first]);
    flood.reached[queue[0]] = true;
  }
  for (std::size_t head = 0; head < queue.size(); ++head) spread(flood, entries_[queue[head]], queue);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].receives && !gets(flood, members[i])) flood.lost.push_back(i);
  }
  return flood;
}

void Multicast::spread(Flood& flood, const MulticastEntry& from, std::vector<std::uint32_t>& queue) const {
  flood.meets_unread = flood.meets_unread || !tables_.is_known(from.at);
  each_wire(network_, from, [&](unsigned /*port*/, const Wire& wire) {
    flood.meets_unread = flood.meets_unread || wire.to == Wire::To::silent;
    if (wire.to != Wire::To::switch_port) return;
    const std::uint32_t next = entry_of_[wire.index];
    if (next == none) {
      flood.meets_unread = flood.meets_unread || !tables_.is_known(wire.index);
    } else if (!flood.reached[next]) {
      flood.reached[next] = true;
      queue.push_back(next);
    }
  });
}

bool Multicast::gets(const Flood& flood, const Member& member) const {
  const SwitchIndex at = switch_of(member);
  if (at == none || entry_of_[at] == none || !flood.reached[entry_of_[at]]) return false;
  return entries_[entry_of_[at]].ports.has(member.host == none ? 0U : network_.hosts()[member.host].leaf_port);
}

void Multicast::count_lost(Lid mlid, const Flood& flood, const std::vector<Member>& members, const Member& sender) {
  const auto is_other = [&](std::size_t i) { return members[i].host != sender.host || members[i].at != sender.at; };
  const auto first = std::ranges::find_if(flood.lost, is_other);
  if (first == flood.lost.end()) return;
  const bool is_sender_lost = static_cast<std::size_t>(std::ranges::count_if(flood.lost, is_other)) != flood.lost.size();
  const Fault fault = flood.meets_unread ? Fault::not_read : Fault::not_reached;
  Cause& of = cause(mlid, fault, none, {mlid.value});  // one of each group, named by the first member
  const Member& member = members[*first];
  if (of.port_id == none) of.port_id = member.host == none ? network_.port_id(member.at, 0) : network_.port_id_of_host(member.host);
  if (of.pairs == 0) of.example = {lid_of(sender), mlid};
  of.pairs += flood.lost.size() - (is_sender_lost ? 1 : 0);
}

Cause& Multicast::cause(Lid mlid, Fault fault, PortId port_id, std::vector<std::uint32_t> which) {
  const auto [known, is_new] = causes_[{-static_cast<int>(fault), port_id}].try_emplace(which);
  Cause& of = known->second;
  if (is_new) {
    of.fault = fault;
    of.port_id = port_id;
    if (fault == Fault::loop) of.cycle = std::move(which);
  }
  if (of.lids.empty() || of.lids.back() != mlid.value) of.lids.push_back(mlid.value);
  return of;
}

std::vector<const Cause*> Multicast::sorted(bool not_read) const {
  std::vector<const Cause*> found;
  for (const auto& [fault_and_port, causes] : causes_) {
    for (const auto& [which, of] : causes) {
      if ((of.fault == Fault::not_read) == not_read) found.push_back(&of);
    }
  }
  std::ranges::stable_sort(found, [](const Cause* a, const Cause* b) { return a->lids.size() > b->lids.size(); });
  return found;
}

namespace {

constexpr unsigned full_member = 1, non_member = 2;  // JoinState (IBA 15.2.5.17)

/// The member with the GUID of a record; nothing if it is not in the fabric.
std::optional<Member> member_of(const Network& network, const sa::MCMemberRecord& record) {
  const subnet::PortIndex port = network.subnet().find_port(record.port_gid.guid());
  if (port == subnet::none) return std::nullopt;
  Member member;
  member.host = network.host_of(port);
  if (member.host == none) member.at = network.switch_of(network.subnet().port(port).node);
  if (member.host == none && member.at == none) return std::nullopt;
  member.receives = (record.join_state & (full_member | non_member)) != 0;
  return member;
}

}  // namespace

void GroupMembers::add(const Network& network, const sa::MCMemberRecord& record) {
  if (!record.mlid.is_multicast()) return;
  sls[record.mlid.value] |= SlSet{1} << record.sl;
  if (record.port_gid.guid() == Guid{}) return;  // a group whose members the SA does not name
  const auto member = member_of(network, record);
  if (!member) {
    strange.insert(record.port_gid.guid());
    return;
  }
  // A port that is in two groups of one MLID is one member of both.
  std::vector<Member>& all = members[record.mlid.value];
  const auto known = std::ranges::find_if(all, [&](const Member& of) { return of.host == member->host && of.at == member->at; });
  if (known == all.end()) {
    all.push_back(*member);
  } else {
    known->receives = known->receives || member->receives;
  }
}

std::vector<Lid> groups_in_use(const MulticastTables& tables, const GroupMembers& known) {
  std::set<Lid> all;
  for (const Lid mlid : tables.groups()) all.insert(mlid);
  for (const auto& [mlid, members] : known.members) all.insert(Lid{mlid});
  return {all.begin(), all.end()};
}

async::Task<std::vector<sa::MCMemberRecord>> read_group_records(mad::Transactor& transactor, std::string& why) {
  if (!transactor.knows_sa()) {
    why = mad::no_sa_is_known;
    co_return std::vector<sa::MCMemberRecord>();
  }
  const sa::MCMemberRecord::Query all;
  async::Task<mad::Result<sa::Table<sa::MCMemberRecord>>> query = sa::try_subn_adm_get_table(transactor, all);
  sa::Table<sa::MCMemberRecord> table;
  const std::shared_ptr<const Error> error = co_await sa::store_answer(std::move(query), table);
  if (error && !sa::is_no_records(*error)) why = error->message();
  if (table.torn) {
    why = "the table of the subnet administrator did not arrive whole";
    table.records.clear();
  }
  co_return std::move(table.records);
}

}  // namespace ib::routing
