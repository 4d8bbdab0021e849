// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records name ports by LID and number. A switch has one LID for all its ports. The LID of another node belongs to one port;
// the port number in its record may be reserved (IBA 15.2.5.3, 15.2.5.13) and is ignored.
#include "subnet/sweep/sa_records.hpp"

#include <fmt/format.h>

#include "subnet/model/failures.hpp"
#include "subnet/sweep/lay_routes.hpp"

namespace ib::subnet {
namespace {

/// The greatest number of reported contradictions. A table has room for millions of them.
constexpr std::size_t most_contradictions = 1U << 16;

class Builder {
 public:
  Builder(const SaRecords& records, Subnet& subnet) : records_(records), subnet_(subnet), by_lid_(last_unicast_lid + 1U, none) {}

  Failures run(const SaStart& start) {
    for (const auto& record : records_.nodes) add(record);
    for (const auto& record : records_.ports) add(record);
    for (const auto& record : records_.switches) add(record);
    for (const auto& record : records_.links) add(record);
    for (const auto& miss : records_.misses) add(miss);
    report_strays();
    subnet_.start = subnet_.find_port(start.port_guid);
    if (subnet_.start == none) subnet_.start = end_port_at(start.lid);
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

  /// The port that a record names, or none.
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
      const auto& text = record.node_description.node_string;
      std::copy(text.begin(), text.end(), node.description_bytes.begin());
      node.has_description = true;
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
    Node& node = subnet_.node(subnet_.port(end).node);
    record.switch_info.pack(node.switch_info_bytes);
    node.has_switch_info = true;
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

  void add(const SaRecords::Miss& miss) {
    const PortIndex end = end_port_at(miss.lid);
    Failure failure;
    failure.kind = kind_of(*miss.error);
    failure.node = end != none ? subnet_.port(end).node : none;
    failure.port = miss.port;
    failure.beyond = miss.beyond;
    failure.attribute = miss.attribute;
    failure.why = miss.error->message();
    failure.error = miss.error;
    failures_.push_back(std::move(failure));
  }

  // Counts a record of a port that no NodeRecord names. All such records of one kind become one Failure.
  void stray(std::string_view attribute, Lid lid, unsigned port) {
    for (Stray& known : strays_) {
      if (known.attribute != attribute) continue;
      ++known.count;
      return;
    }
    strays_.push_back({attribute, lid, port, 1});
  }
  void report_strays() {
    for (const Stray& s : strays_) {
      fail(Failure::Kind::false_answer, none, -1, std::string(s.attribute),
           fmt::format("The SA has {} {}Record{} of ports that it does not know, the first of port {} of LID {}.", s.count, s.attribute,
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
    std::string_view attribute;
    Lid lid;
    unsigned port;
    std::size_t count;
  };
  const SaRecords& records_;
  Subnet& subnet_;
  std::vector<PortIndex> by_lid_;  // end ports by the LIDs of their NodeRecords
  std::vector<Stray> strays_;
  Failures failures_;
  std::size_t contradictions_ = 0;  // number of those among the failures
  bool no_room_reported_ = false;
};

}  // namespace

Failures build(const SaRecords& records, const SaStart& start, Subnet& subnet) { return Builder(records, subnet).run(start); }

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

}  // namespace ib::subnet
