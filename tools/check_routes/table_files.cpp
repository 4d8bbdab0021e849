// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables from files (lib/formats), matched with the switches of a topology.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/escape.hpp"
#include "formats/forwarding_text.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/find_port.hpp"
#include "tools/check_routes/routes.hpp"

namespace ib::tools::routes {
namespace {

using formats::StoredForwardingTable;
using routing::SwitchIndex;

/// Switches that have a table in a file before, by whether it is a multicast table.
using Taken = std::set<std::pair<SwitchIndex, bool>>;

class TableTaker {
 public:
  TableTaker(Tables& tables, std::string file, const Taken& before) : tables_(tables), file_(std::move(file)), before_(before) {}

  void take(const StoredForwardingTable& table) {
    tables_.has_multicast_file = tables_.has_multicast_file || table.multicast;
    const SwitchIndex at = find(table);
    if (at == routing::none) {
      if (strangers_++ == 0) first_stranger_ = table.line;
      return;
    }
    taken_.emplace(at, table.multicast);
    if (before_.contains({at, table.multicast}) && repeated_.insert(at).second && first_repeated_ == 0) first_repeated_ = table.line;
    table.multicast ? take_groups(at, table) : take_routes(at, table);
  }
  /// To be called after the last table. Returns the switches that have tables in the file.
  Taken finish() {
    for (SwitchIndex at = 0; is_whole_ && at < tables_.network.switches().size(); ++at) tables_.multicast.set_known(at);
    return std::move(taken_);
  }
  std::vector<std::string> remarks() const {
    std::vector<std::string> all;
    if (strangers_ > 0) all.push_back(remark(first_stranger_, strangers_, "not in the topology"));
    if (first_repeated_ > 0) {
      all.push_back(remark(first_repeated_, repeated_.size(), "in a file before this one too: what this file has counts"));
    }
    return all;
  }

 private:
  std::string remark(std::size_t line, std::size_t switches, std::string_view what) const {
    return fmt::format("{}:{}: {} {}", printable(file_), line,
                       switches == 1 ? "this switch is" : fmt::format("this switch and {} more are", switches - 1), what);
  }
  SwitchIndex of_node(subnet::NodeIndex node) const { return node == subnet::none ? routing::none : tables_.network.switch_of(node); }
  SwitchIndex of_port(subnet::PortIndex port) const {
    return port == subnet::none ? routing::none : of_node(tables_.network.subnet().port(port).node);
  }

  /// The switch that a table is of: by GUIDs, else by LID, else by the route from where the topology begins.
  SwitchIndex find(const StoredForwardingTable& table) const {
    const subnet::Subnet& subnet = tables_.network.subnet();
    if (table.node_guid) {
      const subnet::NodeIndex node = subnet.find_node(*table.node_guid);
      if (node == subnet::none || subnet::has_own_guid(subnet, node)) return of_node(node);
    } else if (table.port_guid) {
      const SwitchIndex at = of_port(subnet.find_port(*table.port_guid));
      if (at != routing::none && subnet::several_text(subnet, *table.port_guid).empty()) return at;
    }
    if (table.lid) return of_port(subnet.find_lid(*table.lid));
    if (!table.directed_route || subnet.start == subnet::none) return routing::none;
    subnet::NodeIndex node = subnet.port(subnet.start).node;
    for (const std::uint8_t out : *table.directed_route) {
      const subnet::PortIndex port = subnet.port_of(node, out);
      if (port == subnet::none || subnet.port(port).peer == subnet::none) return routing::none;
      node = subnet.port(subnet.port(port).peer).node;
    }
    return of_node(node);
  }

  void take_routes(SwitchIndex at, const StoredForwardingTable& table) {
    const unsigned last = tables_.destinations.empty() ? 0U : tables_.destinations.back().lid.value;
    const unsigned listed = table.to_top ? last : std::min<unsigned>(table.last_listed, last);
    const std::uint16_t first = std::max<std::uint16_t>(table.first_listed, 1);
    if (table.first_listed <= table.last_listed && first <= listed)
      tables_.linear.clear(at, Lid{first}, Lid{static_cast<std::uint16_t>(listed)});
    for (const formats::StoredRoute& route : table.routes) tables_.linear.set_entry(at, route.lid, route.port);
  }

  void take_groups(SwitchIndex at, const StoredForwardingTable& table) {
    const bool has_all = table.to_top && table.first_listed <= table.last_listed;
    const bool is_known = tables_.multicast.is_known(at) || has_all;
    if (table.leaves_out_empty) is_whole_ = has_all;
    for (const formats::StoredGroup& group : table.groups) {
      routing::PortSet ports;
      for (unsigned port = 0; port < group.ports.size(); ++port) {
        if (group.ports[port]) ports.add(port);
      }
      tables_.multicast.add(at, group.lid, ports);
    }
    tables_.multicast.set_known(at, is_known);
  }

  Tables& tables_;
  std::string file_;
  const Taken& before_;
  Taken taken_;
  std::set<SwitchIndex> repeated_;
  std::size_t first_repeated_ = 0;  // the line of the first table of a switch that an earlier file has
  std::size_t strangers_ = 0, first_stranger_ = 0;
  bool is_whole_ = false;  // the file has the tables of all switches with entries
};

}  // namespace

std::vector<std::string> read_table_files(const std::vector<std::string>& files, Tables& tables) {
  std::vector<std::string> remarks;
  Taken before;
  for (const std::string& file : files) {
    TableTaker taker(tables, file, before);
    const std::vector<std::string> found =
        formats::read_forwarding_text(file, [&taker](StoredForwardingTable&& table) { taker.take(table); });
    remarks.insert(remarks.end(), found.begin(), found.end());
    for (std::string& remark : taker.remarks()) remarks.push_back(std::move(remark));
    before.merge(taker.finish());
  }
  tables.multicast.finish();
  return remarks;
}

std::vector<std::string> read_level_file(const std::string& file, Tables& tables) {
  const routing::Network& network = tables.network;
  std::unordered_multimap<std::uint64_t, std::size_t> senders;
  for (routing::HostIndex at = 0; at < network.hosts().size(); ++at) {
    senders.emplace(network.subnet().node_of(network.hosts()[at].port).guid().value, at);
  }
  for (SwitchIndex at = 0; tables.switches_send && at < network.switches().size(); ++at) {
    senders.emplace(network.subnet().node(network.switches()[at].node).guid().value, network.hosts().size() + at);
  }
  tables.begin_levels();
  std::size_t strangers = 0;
  formats::read_service_levels(file, [&](const formats::StoredServiceLevel& level) {
    const auto [begin, end] = senders.equal_range(level.node_guid.value);
    const std::size_t to = tables.number_of(level.dlid);
    if (begin == end) ++strangers;
    if (to == routing::none) return;
    for (auto sender = begin; sender != end; ++sender) tables.levels.set(sender->second, to, level.sl);
  });
  if (strangers == 0) return {};
  return {fmt::format("{}: {} of nodes that send nothing here", printable(file),
                      strangers == 1 ? "1 line is" : fmt::format("{} lines are", strangers))};
}

}  // namespace ib::tools::routes
