// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads four tables, or crawls if only the nodes near the start are wanted, and builds the model from the records. Records name ports by
// LID and number. A switch has one LID for all its ports. The LID of another node belongs to one port; the port number in its record may be
// reserved (IBA 15.2.5.3, 15.2.5.13) and is ignored.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "async/group.hpp"
#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/model/order.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::subnet {
namespace {

struct SaRecords {
  std::vector<sa::NodeRecord> nodes;
  std::vector<sa::SwitchInfoRecord> switches;
  std::vector<sa::PortInfoRecord> ports;
  std::vector<sa::LinkRecord> links;
  std::vector<std::pair<Lid, Failure>> misses;  ///< single requested records that did not come, of the nodes at these LIDs
};

constexpr std::size_t max_open_queries = 256;  // limits the memory of waiting queries; the Transactor has windows of its own

std::uint32_t end_of_link(Lid lid, unsigned port) { return std::uint32_t{lid.value} << 8 | port; }

/// Reads the records around one node by single queries. The ports of a switch are requested one by one, and then the link of each port that
/// is up. Any other node is one port, known by its LID.
class SaCrawl {
 public:
  SaCrawl(async::Loop& loop, mad::Transactor& transactor, SaRecords& records, const DiscoverOptions& options)
      : transactor_(transactor), records_(records), options_(options), group_(loop) {}

  /// Throws the MadError of the NodeRecord of `start`.
  async::Task<> run(Lid start) {
    depth_.emplace(start.value, 0);
    Query first;
    first.lid = start;
    async::Task<> request = request_node(first);
    co_await send(std::move(request));
    co_await group_.join();
  }
  std::uint64_t queries() const { return queries_; }

 private:
  struct Query {
    Lid lid;
    unsigned depth{};  ///< number of links from the start
    int port = -1;     ///< port of the node at `lid`: the port to query, or the port through which the node was reached
    Lid from;          ///< the link through which the node was reached; zero at the start
    std::uint8_t from_port{};
  };

  void pump() {
    while (!waiting_.empty() && group_.running() < max_open_queries) {
      async::Task<> query = std::move(waiting_.front());
      waiting_.pop_front();
      group_.spawn(send(std::move(query)));
    }
  }

  async::Task<> send(async::Task<> query) {
    ++queries_;
    co_await std::move(query);
    pump();
  }

  template <class Record>
  bool keep(std::vector<Record>& into, const mad::Result<Record>& record, Lid lid, int port, bool beyond, std::string attribute) {
    if (record) {
      into.push_back(*record);
    } else {
      records_.misses.emplace_back(lid, failure_of(record.shared_error(), none, port, beyond, std::move(attribute)));
    }
    return bool(record);
  }

  async::Task<> request_node(Query query) {
    sa::NodeRecord::Query of_lid;
    of_lid.lid(query.lid);
    const mad::Result<sa::NodeRecord> record = co_await sa::try_subn_adm_get(transactor_, of_lid);
    if (!record && query.depth == 0) record.error().raise();
    if (keep(records_.nodes, record, query.from, query.from_port, true, "NodeRecord")) found(query, *record);
  }

  void found(const Query& query, const sa::NodeRecord& record) {
    if (options_.progress) options_.progress(records_.nodes.size());
    ports_ += record.node_info.num_ports + 1U;
    if (ports_ > SubnetLimits().ports) return;  // the Builder reports that there are too many
    const auto request_port = [&](int port) { waiting_.push_back(request_port_info({query.lid, query.depth, port, {}, {}})); };
    if (record.node_info.node_type != smp::NodeType::switch_) return request_port(-1);
    if (options_.needs.switch_infos) waiting_.push_back(request_switch_info(query));
    request_port(0);
    if (at_rim(query.depth)) return query.port > 0 ? request_port(query.port) : void();
    const int ports = static_cast<int>(std::min<unsigned>(record.node_info.num_ports, last_switch_port));
    for (int port = 1; port <= ports; ++port) request_port(port);
  }

  async::Task<> request_switch_info(Query query) {
    sa::SwitchInfoRecord::Query of_lid;
    of_lid.lid(query.lid);
    const mad::Result<sa::SwitchInfoRecord> record = co_await sa::try_subn_adm_get(transactor_, of_lid);
    keep(records_.switches, record, query.lid, -1, false, "SwitchInfo");
  }

  async::Task<> request_port_info(Query query) {
    sa::PortInfoRecord::Query of_port;
    of_port.endport_lid(query.lid);
    if (query.port >= 0) of_port.port_num(static_cast<std::uint8_t>(query.port));
    const mad::Result<sa::PortInfoRecord> record = co_await sa::try_subn_adm_get(transactor_, of_port);
    if (!keep(records_.ports, record, query.lid, query.port, false, "PortInfo")) co_return;
    const smp::PortInfo& info = record->port_info;
    const bool is_up = info.port_physical_state == smp::PortPhysicalState::link_up || info.port_state >= smp::PortState::init;
    const bool leads_on = query.port > 0 || (query.port < 0 && query.depth == 0);  // links of other end nodes are known from their switches
    if (!leads_on || options_.alone || at_rim(query.depth) || !is_up) co_return;
    if (query.port > 0 && linked_.contains(end_of_link(query.lid, static_cast<unsigned>(query.port)))) co_return;
    waiting_.push_back(request_link(query));
  }

  async::Task<> request_link(Query query) {
    std::optional<std::uint8_t> port;
    if (query.port >= 0) port = static_cast<std::uint8_t>(query.port);
    const mad::Result<sa::LinkRecord> record = co_await sa::find_link(transactor_, query.lid, port);
    if (!keep(records_.links, record, query.lid, query.port, true, "Link")) co_return;
    linked_.insert(end_of_link(record->to_lid, record->to_port));
    if (!record->to_lid.is_unicast()) co_return;
    const Query next{record->to_lid, query.depth + 1, record->to_port, query.lid, record->from_port};
    const auto [known, is_new] = depth_.emplace(next.lid.value, next.depth);
    if (!is_new && (!at_rim(known->second) || next.port == 0)) co_return;
    if (is_new) co_return waiting_.push_back(request_node(next));
    waiting_.push_back(request_port_info(next));  // another link to a switch at the greatest distance, of which only linked ports are read
  }

  bool at_rim(unsigned depth) const { return !options_.alone && depth >= options_.radius; }

  mad::Transactor& transactor_;
  SaRecords& records_;
  const DiscoverOptions& options_;
  async::TaskGroup group_;
  std::deque<async::Task<>> waiting_;
  std::unordered_map<std::uint16_t, unsigned> depth_;  // of LIDs that were requested
  std::unordered_set<std::uint32_t> linked_;           // by LID << 8 | port: the far ends of known links
  std::uint64_t queries_{};
  std::size_t ports_{};  // sum of the port numbers that nodes report
};

/// The greatest number of reported contradictions. A table has room for millions of them.
constexpr std::size_t most_contradictions = 1U << 16;

/// Fills an empty model from records: nodes, ports, links, and the shortest routes from the start. SAs differ, and their records may be
/// outdated, so a record that names an unknown node, port or LID is not used.
class Builder {
 public:
  Builder(const SaRecords& records, Subnet& subnet) : records_(records), subnet_(subnet), by_lid_(last_unicast_lid + 1U, none) {}

  /// The start is the end port with that GUID, else the one at that LID; none if no record names it. Returns the contradictions, sorted.
  Failures run(Guid port_guid, Lid lid) {
    for (const auto& record : records_.nodes) add(record);
    for (const auto& record : records_.ports) add(record);
    for (const auto& record : records_.switches) add(record);
    for (const auto& record : records_.links) add(record);
    for (const auto& [of, failure] : records_.misses) {
      failures_.push_back(failure);
      if (const PortIndex end = end_port_at(of); end != none) failures_.back().node = subnet_.port(end).node;
    }
    report_strays();
    subnet_.start = subnet_.find_port(port_guid);
    if (subnet_.start == none) subnet_.start = end_port_at(lid);
    lay_routes(subnet_);
    take_entry_infos();
    sort(failures_, subnet_);
    return std::move(failures_);
  }

 private:
  void fail(Failure::Kind kind, NodeIndex node, int port, std::string attribute, std::string why) {
    if (contradictions_ == most_contradictions) return;
    if (++contradictions_ == most_contradictions) {
      failures_.push_back({Failure::Kind::false_answer, none, -1, false, "", 0, "There are more contradictions between records.", {}});
      return;
    }
    failures_.push_back({kind, node, port, false, std::move(attribute), 0, std::move(why), {}});
  }

  bool is_switch(NodeIndex node) const { return subnet_.node(node).kind() == NodeKind::sw; }

  PortIndex end_port_at(Lid lid) const {
    const PortIndex port = lid.value < by_lid_.size() ? by_lid_[lid.value] : none;
    return port != none ? port : subnet_.find_lid(lid);
  }

  PortIndex port_at(Lid lid, unsigned number) const {
    const PortIndex end = end_port_at(lid);
    if (end == none || !is_switch(subnet_.port(end).node)) return end;
    return subnet_.port_of(subnet_.port(end).node, number);
  }

  /// The node of a record, or none if it is new. Another port's record may have added the node before. A record that differs
  /// from that node belongs to another node with the same GUID.
  NodeIndex node_of(const smp::NodeInfo& info) const {
    for (NodeIndex at = subnet_.find_node(info.node_guid); at != none; at = subnet_.node(at).twin) {
      const Node& node = subnet_.node(at);
      if (node.info.node_type != info.node_type || node.info.num_ports != info.num_ports) continue;
      const PortIndex end = subnet_.port_of(at, is_switch(at) ? 0U : info.local_port_num);
      if (end == none) continue;
      const Guid guid = subnet_.port(end).guid;
      if (guid == Guid{} || guid == info.port_guid) return at;
    }
    return none;
  }

  void add(const sa::NodeRecord& record) {
    const smp::NodeInfo& info = record.node_info;
    NodeIndex at = node_of(info);
    if (at == none) {
      if (!subnet_.has_room_for(info)) {
        if (!no_room_reported_) fail(Failure::Kind::false_answer, none, -1, "NodeInfo", std::string(no_room_text));
        no_room_reported_ = true;
        return;
      }
      const bool claimed = subnet_.find_node(info.node_guid) != none;
      at = subnet_.add_node(info);
      if (claimed) fail(Failure::Kind::duplicate_guid, at, -1, "NodeInfo", "Another node has the same GUID.");
      if (std::string lie = false_claim(info); !lie.empty()) fail(Failure::Kind::false_answer, at, -1, "NodeInfo", std::move(lie));
      Node& node = subnet_.node(at);
      node.entry_port = info.local_port_num;
      node.set_description(record.node_description.node_string);
    }
    const PortIndex end = subnet_.port_of(at, is_switch(at) ? 0U : info.local_port_num);
    subnet_.set_port_guid(end, info.port_guid);
    if (!record.lid.is_unicast()) return;
    PortIndex& owner = by_lid_[record.lid.value];
    if (owner == none) owner = end;
    if (owner != end) lid_is_taken(end, record.lid);
  }

  void lid_is_taken(PortIndex end, Lid lid) {
    const Port& port = subnet_.port(end);
    fail(Failure::Kind::duplicate_lid, port.node, port.number, "PortInfo",
         fmt::format("LID {} belongs to another port already.", lid.value));
  }

  void add(const sa::PortInfoRecord& record) {
    const PortIndex at = port_at(record.endport_lid, record.port_num);
    if (at == none) {
      stray("PortInfo", record.endport_lid, record.port_num);
      return;
    }
    if (subnet_.port(at).has_info) return;  // the same port with another of its LIDs
    if (subnet_.set_port_info(at, wire::packed(record.port_info)) != none) lid_is_taken(at, subnet_.lid(at));
  }

  void add(const sa::SwitchInfoRecord& record) {
    const PortIndex end = end_port_at(record.lid);
    if (end == none || !is_switch(subnet_.port(end).node)) {
      stray("SwitchInfo", record.lid, 0);
      return;
    }
    subnet_.node_of(end).set_switch_info(wire::packed(record.switch_info));
  }

  void add(const sa::LinkRecord& record) {
    const PortIndex from = port_at(record.from_lid, record.from_port), to = port_at(record.to_lid, record.to_port);
    if (from == none || to == none) {
      from == none ? stray("Link", record.from_lid, record.from_port) : stray("Link", record.to_lid, record.to_port);
      return;
    }
    const PortIndex known = subnet_.port(from).peer;
    if (known == none && subnet_.port(to).peer == none) subnet_.link(from, to);
    if (subnet_.port(from).peer == to) return;
    const Port& port = subnet_.port(from);
    fail(Failure::Kind::false_answer, port.node, port.number, "Link",
         fmt::format("Port {} is said to be linked with port {} of LID {} too.", port.number, record.to_port, record.to_lid.value));
  }

  /// Counts a record of a port that no NodeRecord names. All such records of one kind become one Failure.
  void stray(std::string_view attribute, Lid lid, unsigned port) {
    ++strays_.try_emplace(attribute, Stray{lid, port, 0}).first->second.count;
  }
  void report_strays() {
    for (const auto& [attribute, s] : strays_) {
      fail(Failure::Kind::false_answer, none, -1, std::string(attribute),
           fmt::format("The SA has {} {}Record{} of ports that it does not know, the first of port {} of LID {}.", s.count, attribute,
                       s.count == 1 ? "" : "s", s.port, s.lid.value));
    }
  }

  /// A node with several end ports gets the NodeInfo of the port through which it is reached.
  void take_entry_infos() {
    for (const sa::NodeRecord& record : records_.nodes) {
      const NodeIndex at = node_of(record.node_info);
      if (at == none || is_switch(at)) continue;
      Node& node = subnet_.node(at);
      if (record.node_info.local_port_num == node.entry_port) node.info = record.node_info;
    }
  }

  struct Stray {
    Lid lid;
    unsigned port;
    std::size_t count;
  };
  const SaRecords& records_;
  Subnet& subnet_;
  std::vector<PortIndex> by_lid_;             // end ports by the LIDs of their NodeRecords
  std::map<std::string_view, Stray> strays_;  // by attribute
  Failures failures_;
  std::size_t contradictions_ = 0;  // number of those among the failures
  bool no_room_reported_ = false;
};

/// A Failure for each port of a switch and each linked port without PortInfo, and for each port that is up but has no link. For records
/// that should be complete, as far as `needs` says.
Failures find_gaps(const Subnet& subnet, const DiscoverNeeds& needs) {
  Failures gaps;
  const auto missing = [&](const Port& port, bool beyond, std::string_view attribute, std::string why) {
    gaps.push_back({Failure::Kind::no_record, port.node, port.number, beyond, std::string(attribute), 0, std::move(why), {}});
  };
  for (const Node& node : subnet.nodes()) {
    const bool is_switch = node.kind() == NodeKind::sw;
    for (const Port& port : subnet.ports_of(node)) {
      if (port.number > node.info.num_ports) continue;
      if (!port.has_info && (is_switch || port.peer != none) && needs.end_ports.any())
        missing(port, false, "PortInfo", "The SA has no record of it.");
      const bool up = port.has_info && port.number != 0 && port.is_link_up();
      if (up && port.peer == none && needs.links) missing(port, true, "Link", "The SA has no record of the link.");
    }
  }
  return gaps;
}

/// Reads a table of the SA. If it came without its end, adds a Failure to `cut`.
template <class Record>
async::Task<> read_table(mad::Transactor& transactor, std::vector<Record>& into, Failures& cut) {
  const sa::Pattern everything(Record::info());
  const sa::Records records = co_await sa::find_records(transactor, everything);
  into.reserve(records.bytes.size());
  for (const Bytes bytes : records.bytes) into.push_back(wire::unpack_short<Record>(bytes));
  if (!records.torn) co_return;
  const std::string name(Record::info().iba_name.substr(2));  // without "SA"
  std::string why = fmt::format("The SA's table of {}s came without its end: {} arrived.", name, into.size());
  cut.push_back({.kind = Failure::Kind::no_record, .attribute = name, .why = std::move(why), .error = {}});
}

/// Reads the tables that `options` need, the one of nodes if there are none. Returns the number of queries.
async::Task<std::uint64_t> read_tables(mad::Transactor& transactor, const DiscoverOptions& options, SaRecords& records, Failures& cut) {
  const bool lacks_nodes = records.nodes.empty(), ports = options.needs.end_ports.any();
  if (lacks_nodes) co_await read_table(transactor, records.nodes, cut);
  if (options.progress) options.progress(records.nodes.size());
  if (ports) co_await read_table(transactor, records.ports, cut);
  if (options.needs.links) co_await read_table(transactor, records.links, cut);
  if (options.needs.switch_infos) co_await read_table(transactor, records.switches, cut);
  co_return std::uint64_t{lacks_nodes} + std::uint64_t{ports} + std::uint64_t{options.needs.links} +
      std::uint64_t{options.needs.switch_infos};
}

}  // namespace

async::Task<Discovered> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, DiscoverOptions options, std::optional<Lid> first,
                                         std::vector<sa::NodeRecord> nodes) {
  const sys::EndPort& here = transactor.end_port();
  const Lid start = first.value_or(here.lid);
  const bool whole = options.radius == ~0U && !options.alone;
  SaRecords records;
  Failures cut;
  Discovered result;
  DiscoverStats& stats = result.stats;
  if (whole) {
    records.nodes = std::move(nodes);
    stats.plan = co_await read_tables(transactor, options, records, cut);
  } else {
    async::Loop& loop = co_await async::current_loop;
    SaCrawl crawl(loop, transactor, records, options);
    co_await crawl.run(start);
    stats.plan = crawl.queries();
  }
  stats.requested = stats.plan;
  subnet.clear();
  result.failures = Builder(records, subnet).run(first ? Guid{} : here.port_guid(), start);
  if (subnet.start == none) {
    Error unknown(fmt::format("The SA does not know the port at LID {}, where the discovery was to begin", start.value));
    for (const Failure& table : cut) unknown.note(table.why);
    throw unknown;
  }
  if (whole && cut.empty())  // what a table without its end lacks is one failure
    std::ranges::move(find_gaps(subnet, options.needs), std::back_inserter(result.failures));
  sort(result.failures, subnet);
  std::ranges::move(cut, std::back_inserter(result.failures));
  co_return result;
}

}  // namespace ib::subnet
