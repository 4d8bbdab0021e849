// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/netdisc_cache.hpp"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/find_port.hpp"

namespace ib::formats {

using namespace subnet;

namespace {

constexpr std::uint32_t magic = 0x8fe7832b, version = 1;
constexpr std::size_t header_size = 28, node_size = 207, key_size = 9, port_size = 95;

/// Removes values from the front of a file.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(Bytes file) : left_(file) {}

  std::size_t left() const { return left_.size(); }
  /// Throws UsageError if fewer than `size` bytes are left. `what` and `number` name the object in the message.
  void need(std::size_t size, std::string_view what, std::size_t number) const {
    if (left_.size() < size) throw UsageError(fmt::format("it ends within {} {}", what, number));
  }
  template <std::unsigned_integral T>
  void number(T& to) {
    std::uint64_t value = 0;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    to = static_cast<T>(le64toh(value));
  }
  template <std::unsigned_integral T>
  T number() {
    T value{};
    number(value);
    return value;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  void skip(std::size_t size) { left_ = left_.subspan(size); }
  Guid guid() { return {number<std::uint64_t>()}; }
  void data(SmpData& to) {
    std::copy_n(left_.begin(), to.size(), to.begin());
    left_ = left_.subspan(to.size());
  }

 private:
  Bytes left_;
};

class FileWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) file_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void data(const SmpData& data) { file_.insert(file_.end(), data.begin(), data.end()); }
  std::vector<std::uint8_t> take() { return std::move(file_); }

 private:
  std::vector<std::uint8_t> file_;
};

/// Reads or writes what is in the record of a node before its ports.
template <class File, class Node>
void visit_node(File& file, Node& node) {
  file.number(node.lid.value);
  file.number(node.lmc);
  file.number(node.enhanced_port0);
  file.data(node.switch_info);
  file.number(node.guid.value);
  file.number(node.type);
  file.number(node.num_ports);
  file.data(node.info);
  file.data(node.description);
}

/// Reads or writes what is in the record of a port before its node.
template <class File, class Port>
void visit_port(File& file, Port& port) {
  file.number(port.guid.value);
  file.number(port.number);
  file.number(port.external);
  file.number(port.lid.value);
  file.number(port.lmc);
  file.data(port.info);
}

/// The name of a port in a file.
struct Key {
  Guid guid;
  std::uint8_t number{};
  auto operator<=>(const Key&) const = default;
};

/// A port as the file has it.
struct PortRecord {
  ByteReader begin;  ///< of its bytes, which are read again when a node has named the port
  Key key;
  Guid owner;
  bool linked{};
  Key remote;
  bool taken{};                ///< a node has named the port
  std::uint32_t node = none;   ///< that one
  std::uint32_t place = none;  ///< index in NetdiscCache::ports
};

/// Sorts ports from the order in which libibnetdisc found them to the order of its hash table, so that its programs and ours write the same
/// bytes: by bucket, and the last found first.
template <class T, class GuidOf>
void sort_as_table(std::vector<T>& ports, GuidOf guid_of) {
  constexpr std::uint32_t low_factor = 101, high_factor = 103;
  std::array<std::vector<T>, 137> table;
  for (const T& port : ports) {
    const Guid guid = guid_of(port);
    const auto low = static_cast<std::uint32_t>(guid.value), high = static_cast<std::uint32_t>(guid.value >> 32U);
    table[((low * low_factor) ^ (high * high_factor)) % table.size()].push_back(port);
  }
  ports.clear();
  for (const std::vector<T>& bucket : table) ports.insert(ports.end(), bucket.rbegin(), bucket.rend());
}

/// The names of a node's ports.
struct PortKeys {
  ByteReader begin;
  unsigned count{};
};

std::string to_text(const Key& key) { return fmt::format("port 0x{:016x}:{}", key.guid.value, key.number); }

class CacheReader {
 public:
  explicit CacheReader(Bytes file) : in_(file) {}

  NetdiscCache read() {
    read_header();
    for (std::uint32_t at = 0; at < node_count_; ++at) read_node(at);
    for (std::uint32_t at = 0; at < port_count_; ++at) read_port(at);
    std::ranges::reverse(cache_.nodes);
    std::ranges::reverse(keys_);
    find_start();
    check_nodes();
    std::ranges::stable_sort(records_, {}, &PortRecord::key);
    give_ports_to_nodes();
    link();
    return std::move(cache_);
  }

 private:
  void read_header() {
    if (in_.left() < header_size || in_.number<std::uint32_t>() != magic) throw UsageError("it is not a cache of libibnetdisc");
    if (const auto its = in_.number<std::uint32_t>(); its != version)
      throw UsageError(fmt::format("it has version {} of the format, and only {} is known", its, version));
    node_count_ = in_.number<std::uint32_t>();
    port_count_ = in_.number<std::uint32_t>();
    from_ = in_.guid();
    cache_.max_hops = in_.number<std::uint32_t>();
    constexpr SubnetLimits limits;
    if (node_count_ > limits.nodes || port_count_ > limits.ports)
      throw UsageError(fmt::format("it claims {} nodes and {} ports, more than a subnet can have", node_count_, port_count_));
    if (node_count_ * node_size + port_count_ * port_size > in_.left())
      throw UsageError(fmt::format("it claims {} nodes and {} ports, and is too short for them", node_count_, port_count_));
    cache_.nodes.reserve(node_count_);
    keys_.reserve(node_count_);
    records_.reserve(port_count_);
  }

  void read_node(std::uint32_t at) {
    in_.need(node_size, "node", at + 1);
    CachedNode& node = cache_.nodes.emplace_back();
    visit_node(in_, node);
    const unsigned stored = in_.byte();
    in_.need(stored * key_size, "node", at + 1);
    keys_.push_back({in_, stored});
    in_.skip(stored * key_size);
  }

  void read_port(std::uint32_t at) {
    in_.need(port_size, "port", at + 1);
    PortRecord& record = records_.emplace_back();
    record.begin = in_;
    CachedPort port;
    visit_port(in_, port);
    record.key = {port.guid, port.number};
    record.owner = in_.guid();
    record.linked = in_.byte() != 0;
    record.remote = key(in_);
  }

  static Key key(ByteReader& in) {
    const Guid guid = in.guid();
    return {guid, in.byte()};
  }

  void find_start() {
    const auto found = std::ranges::find(cache_.nodes, from_, &CachedNode::guid);
    if (found == cache_.nodes.end()) throw UsageError(fmt::format("it lacks node 0x{:016x}, at which it says to begin", from_.value));
    cache_.from_node = static_cast<std::uint32_t>(found - cache_.nodes.begin());
  }

  /// A node is known by its GUID.
  void check_nodes() const {
    std::vector<Guid> guids;
    for (const CachedNode& node : cache_.nodes) guids.push_back(node.guid);
    std::ranges::sort(guids);
    const auto twice = std::ranges::adjacent_find(guids);
    if (twice != guids.end()) throw UsageError(fmt::format("it has two nodes 0x{:016x}", twice->value));
  }

  /// Fills CachedNode::ports and NetdiscCache::ports.
  void give_ports_to_nodes() {
    std::vector<PortRecord*> met;  // in the order in which libibnetdisc inserts them into its table
    for (std::uint32_t at = 0; at < cache_.nodes.size(); ++at) {
      for (; keys_[at].count > 0; --keys_[at].count) {
        PortRecord* const record = record_of(at, key(keys_[at].begin));
        if (record == nullptr) continue;
        record->taken = true;
        record->node = at;
        met.push_back(record);
      }
    }
    sort_as_table(met, [](const PortRecord* record) { return record->key.guid; });
    cache_.ports.reserve(met.size());
    for (PortRecord* const record : met) {
      record->place = static_cast<std::uint32_t>(cache_.ports.size());
      CachedPort& port = cache_.ports.emplace_back();
      visit_port(record->begin, port);
      port.node = record->node;
    }
    for (std::uint32_t at = 0; at < cache_.ports.size(); ++at) cache_.nodes[cache_.ports[at].node].ports.push_back(at);
    for (CachedNode& node : cache_.nodes) check_ports(node);
  }

  /// The records with that key, of which there may be several.
  auto with(const Key& key) { return std::ranges::equal_range(records_, key, {}, &PortRecord::key); }

  /// The record that `key` means in node `at`. Null if there is none.
  PortRecord* record_of(std::uint32_t at, const Key& key) {
    const auto records = with(key);
    if (records.empty()) return nullptr;
    const CachedNode& node = cache_.nodes[at];
    const auto own = std::ranges::find_if(records, [&](const PortRecord& record) { return record.owner == node.guid && !record.taken; });
    if (own == records.end()) throw UsageError(fmt::format("node 0x{:016x} names {}, which is not its own", node.guid.value, to_text(key)));
    if (key.number > node.num_ports)
      throw UsageError(fmt::format("node 0x{:016x} names {}, and has {} ports", node.guid.value, to_text(key), node.num_ports));
    return &*own;
  }

  void check_ports(CachedNode& node) const {
    const auto number = [this](std::uint32_t port) { return cache_.ports[port].number; };
    std::ranges::sort(node.ports, {}, number);
    const auto twice = std::ranges::adjacent_find(node.ports, {}, number);
    if (twice != node.ports.end())
      throw UsageError(fmt::format("node 0x{:016x} has two ports {}", node.guid.value, static_cast<unsigned>(number(*twice))));
  }

  void link() {
    for (const PortRecord& record : records_) {
      if (!record.taken || !record.linked) continue;
      const PortRecord* remote = nullptr;
      for (const PortRecord& other : with(record.remote)) {
        if (!other.taken) continue;
        const bool back = other.linked && other.remote == record.key;
        if (remote == nullptr || back) remote = &other;
        if (back) break;
      }
      if (remote != nullptr) cache_.ports[record.place].remote = remote->place;
    }
  }

  ByteReader in_;
  std::uint32_t node_count_{}, port_count_{};
  Guid from_;
  NetdiscCache cache_;
  std::vector<PortKeys> keys_;       // by node index
  std::vector<PortRecord> records_;  // by key when all are read
};

void write_node(FileWriter& out, const NetdiscCache& cache, const CachedNode& node) {
  visit_node(out, node);
  out.number(static_cast<std::uint8_t>(node.ports.size()));
  for (const std::uint32_t at : node.ports) {
    out.number(cache.ports[at].guid.value);
    out.number(cache.ports[at].number);
  }
}

void write_port(FileWriter& out, const NetdiscCache& cache, const CachedPort& port) {
  visit_port(out, port);
  out.number(cache.nodes[port.node].guid.value);
  const bool linked = port.remote != none;
  out.number(static_cast<std::uint8_t>(linked));
  out.number(linked ? cache.ports[port.remote].guid.value : 0);
  out.number(linked ? cache.ports[port.remote].number : std::uint8_t{0});
}

/// The NodeInfo of a node with the fields that the file also holds separately. In an edited file, these fields may differ.
smp::NodeInfo node_info(const CachedNode& node) {
  smp::NodeInfo info = smp::NodeInfo::unpack(node.info);
  info.node_guid = node.guid;
  info.node_type = static_cast<decltype(info.node_type)>(node.type);
  info.num_ports = node.num_ports;
  return info;
}

/// The end port where the sweep began. For a node that is not a switch, its first linked port.
PortIndex start_of(const NetdiscCache& cache, const Subnet& subnet) {
  const CachedNode& node = cache.nodes[cache.from_node];
  const PortIndex first = subnet.node(cache.from_node).first_port;
  if (subnet.node(cache.from_node).kind() == NodeKind::sw || node.ports.empty()) return first;
  const auto linked = std::ranges::find_if(node.ports, [&](std::uint32_t port) { return cache.ports[port].remote != none; });
  return first + cache.ports[linked == node.ports.end() ? node.ports.front() : *linked].number;
}

template <class From>
void copy_into(SmpData& to, const From& from) {
  std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
}

/// The ports that have a record, in the order in which libibnetdisc finds them.
std::vector<PortIndex> stored_ports(const Subnet& subnet, const LegacySweep& sweep, const std::vector<std::uint32_t>& node_places) {
  std::vector<bool> listed(subnet.ports().size());
  std::vector<PortIndex> ports;
  const auto add = [&](PortIndex at) {
    const Port& port = subnet.port(at);
    const Node& node = subnet.node(port.node);
    if (listed[at] || !port.has_info || node_places[port.node] == none || port.number > node.info.num_ports) return;
    listed[at] = true;
    ports.push_back(at);
  };
  for (const PortIndex at : sweep.ports) add(at);
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) add(at);
  return ports;
}

/// The NodeInfo as it came by the port through which libibnetdisc finds the node; this sweep may have used another path.
smp::NodeInfo info_on_arrival(const Subnet& subnet, const LegacySweep& sweep, NodeIndex at) {
  const Node& node = subnet.node(at);
  smp::NodeInfo info = node.info;
  if (!sweep.entry_ports[at]) return info;
  info.local_port_num = *sweep.entry_ports[at];
  const PortIndex entry = subnet.port_of(at, info.local_port_num);
  if (node.kind() != NodeKind::sw && entry != none) info.port_guid = subnet.port_guid(entry);
  return info;
}

CachedNode cached_node(const Subnet& subnet, const LegacySweep& sweep, NodeIndex at) {
  const Node& node = subnet.node(at);
  CachedNode cached;
  if (node.kind() == NodeKind::sw) {
    cached.lid = subnet.lid(node.first_port);
    cached.lmc = static_cast<std::uint8_t>(subnet.lmc(node.first_port));
  }
  if (node.has_switch_info) {
    cached.enhanced_port0 = static_cast<std::uint8_t>(node.switch_info().enhanced_port0);
    copy_into(cached.switch_info, node.switch_info_bytes);
  }
  cached.guid = node.guid();
  cached.type = static_cast<std::uint8_t>(node.info.node_type);
  cached.num_ports = node.info.num_ports;
  info_on_arrival(subnet, sweep, at).pack(std::span(cached.info).first<smp::NodeInfo::wire_size>());
  copy_into(cached.description, node.description_bytes);
  return cached;
}

/// A port with the PortInfo that libibnetdisc reads: LocalPortNum (IBA 14.2.5.6) is the port that received the request.
CachedPort cached_port(const Subnet& subnet, const LegacySweep& sweep, PortIndex at) {
  const Port& port = subnet.port(at);
  CachedPort cached;
  cached.guid = subnet.port_guid(at);
  cached.number = port.number;
  cached.lid = subnet.lid(at);
  cached.lmc = static_cast<std::uint8_t>(subnet.lmc(at));
  cached.info = port.info_bytes;
  if (subnet.node(port.node).kind() != NodeKind::sw) {
    cached.info[local_port_num_offset] = port.number;
  } else if (sweep.entry_ports[port.node]) {
    cached.info[local_port_num_offset] = *sweep.entry_ports[port.node];
  }
  return cached;
}

}  // namespace

bool is_netdisc_cache(Bytes file) { return file.size() >= sizeof(magic) && ByteReader(file).number<std::uint32_t>() == magic; }

NetdiscCache read_netdisc_cache(Bytes file) { return CacheReader(file).read(); }

std::vector<std::uint8_t> netdisc_cache_file(const NetdiscCache& cache) {
  FileWriter out;
  out.number(magic);
  out.number(version);
  out.number(static_cast<std::uint32_t>(cache.nodes.size()));
  out.number(static_cast<std::uint32_t>(cache.ports.size()));
  out.number(cache.nodes[cache.from_node].guid.value);
  out.number(cache.max_hops);
  for (auto node = cache.nodes.rbegin(); node != cache.nodes.rend(); ++node) write_node(out, cache, *node);
  for (const CachedPort& port : cache.ports) write_port(out, cache, port);
  return out.take();
}

void fill_subnet(const NetdiscCache& cache, Subnet& subnet) {
  for (const CachedNode& cached : cache.nodes) {
    const smp::NodeInfo info = node_info(cached);
    if (!subnet.has_room_for(info)) throw UsageError("it has more nodes or ports than a subnet can have");
    Node& node = subnet.node(subnet.add_node(info));
    std::copy_n(cached.description.begin(), node.description_bytes.size(), node.description_bytes.begin());
    node.has_description = true;
    node.has_switch_info = node.kind() == NodeKind::sw;
    std::copy_n(cached.switch_info.begin(), node.switch_info_bytes.size(), node.switch_info_bytes.begin());
  }
  std::vector<PortIndex> places;
  for (const CachedPort& cached : cache.ports) {
    const PortIndex at = subnet.node(cached.node).first_port + cached.number;
    places.push_back(at);
    subnet.set_port_guid(at, cached.guid);
    subnet.set_port_info(at, cached.info);
  }
  for (std::uint32_t at = 0; at < cache.ports.size(); ++at) {
    const std::uint32_t remote = cache.ports[at].remote;
    if (remote == none || (cache.ports[remote].remote != at && cache.ports[remote].remote != none)) continue;
    if (subnet.port(places[at]).peer != places[remote]) subnet.link(places[at], places[remote]);
  }
  subnet.start = start_of(cache, subnet);
  lay_routes(subnet);
}

NetdiscCache cache_of(const Subnet& subnet, const LegacySweep& sweep, std::span<const NodeIndex> listed) {
  NetdiscCache cache;
  cache.max_hops = sweep.hops;
  std::vector<std::uint32_t> node_places(subnet.nodes().size(), none), port_places(subnet.ports().size(), none);
  for (std::size_t i = listed.size(); i-- > 0;) {
    const Node& node = subnet.node(listed[i]);
    if (node.is_twin) continue;
    node_places[listed[i]] = static_cast<std::uint32_t>(cache.nodes.size());
    cache.nodes.push_back(cached_node(subnet, sweep, listed[i]));
  }
  cache.from_node = subnet.start == none ? none : node_places[subnet.port(subnet.start).node];
  std::vector<PortIndex> ports = stored_ports(subnet, sweep, node_places);
  sort_as_table(ports, [&](PortIndex at) { return subnet.port_guid(at); });
  const Grouping grouping = group(subnet, listed);
  for (const PortIndex at : ports) {
    port_places[at] = static_cast<std::uint32_t>(cache.ports.size());
    CachedPort& port = cache.ports.emplace_back(cached_port(subnet, sweep, at));
    port.external = grouping.external_port[at];
    port.node = node_places[subnet.port(at).node];
  }
  for (const PortIndex at : ports) {
    if (subnet.port(at).peer != none) cache.ports[port_places[at]].remote = port_places[subnet.port(at).peer];
  }
  for (PortIndex at = 0; at < port_places.size(); ++at) {
    if (port_places[at] != none) cache.nodes[node_places[subnet.port(at).node]].ports.push_back(port_places[at]);
  }
  return cache;
}

}  // namespace ib::formats
