// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/netdisc_cache.hpp"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "formats/netdisc_table.hpp"

namespace ib::formats {

using subnet::none;
using subnet::SubnetLimits;

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
  T number() {
    std::uint64_t value = 0;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return static_cast<T>(le64toh(value));
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  Lid lid() { return {number<std::uint16_t>()}; }
  Guid guid() { return {number<std::uint64_t>()}; }
  SmpData data() {
    SmpData data;
    std::copy_n(left_.begin(), data.size(), data.begin());
    left_ = left_.subspan(data.size());
    return data;
  }

 private:
  Bytes left_;
};

class Writer {
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

/// The name of a port in a file.
struct Key {
  Guid guid;
  std::uint8_t number{};
  bool operator==(const Key&) const = default;
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

std::string to_text(const Key& key) { return fmt::format("port 0x{:016x}:{}", key.guid.value, key.number); }

/// Finds the records of a file by key. Several records may have the same key. The keys stand beside each other, because the records are
/// many times as long.
class PortTable {
 public:
  explicit PortTable(const std::vector<PortRecord>& records) : heads_(std::bit_ceil(records.size() + 1), none), entries_(records.size()) {
    for (auto at = static_cast<std::uint32_t>(records.size()); at-- > 0;) {
      entries_[at] = {records[at].key, std::exchange(heads_[place(records[at].key)], at)};
    }
  }

  /// The first record with that key, and the next one with the key of `record`; none if there is no such.
  std::uint32_t find(const Key& key) const { return match(heads_[place(key)], key); }
  std::uint32_t next(std::uint32_t record) const { return match(entries_[record].next, entries_[record].key); }

 private:
  struct Entry {
    Key key;
    std::uint32_t next{};  ///< a later record at the same place; none at the end
  };

  std::size_t place(const Key& key) const {
    // GUIDs of one vendor differ in few bits. The multiplication spreads these bits over the upper bits.
    return static_cast<std::size_t>(((key.guid.value + key.number) * 0x9e3779b97f4a7c15U) >> 32U) & (heads_.size() - 1);
  }
  std::uint32_t match(std::uint32_t at, const Key& key) const {
    while (at != none && entries_[at].key != key) at = entries_[at].next;
    return at;
  }

  std::vector<std::uint32_t> heads_;  // by place; the size is a power of two
  std::vector<Entry> entries_;        // by record
};

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
    const PortTable table(records_);
    give_ports_to_nodes(table);
    link(table);
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
    node.lid = in_.lid();
    node.lmc = in_.byte();
    node.enhanced_port0 = in_.byte();
    node.switch_info = in_.data();
    node.guid = in_.guid();
    node.type = in_.byte();
    node.num_ports = in_.byte();
    node.info = in_.data();
    node.description = in_.data();
    const unsigned stored = in_.byte();
    in_.need(stored * key_size, "node", at + 1);
    std::vector<Key>& keys = keys_.emplace_back();
    keys.reserve(stored);
    for (unsigned i = 0; i < stored; ++i) keys.push_back(key());
  }

  void read_port(std::uint32_t at) {
    in_.need(port_size, "port", at + 1);
    PortRecord& record = records_.emplace_back();
    record.begin = in_;
    const CachedPort port = cached_port(in_);
    record.key = {port.guid, port.number};
    record.owner = in_.guid();
    record.linked = in_.byte() != 0;
    record.remote = key();
  }

  static CachedPort cached_port(ByteReader& in) {
    CachedPort port;
    port.guid = in.guid();
    port.number = in.byte();
    port.external = in.byte();
    port.lid = in.lid();
    port.lmc = in.byte();
    port.info = in.data();
    return port;
  }

  Key key() {
    const Guid guid = in_.guid();
    return {guid, in_.byte()};
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
  void give_ports_to_nodes(const PortTable& table) {
    std::vector<std::uint32_t> met;  // records in the order in which libibnetdisc inserts them into its table
    for (std::uint32_t at = 0; at < cache_.nodes.size(); ++at) {
      for (const Key& key : keys_[at]) {
        const std::uint32_t record = record_of(table, at, key);
        if (record == none) continue;
        records_[record].taken = true;
        records_[record].node = at;
        met.push_back(record);
      }
    }
    sort_as_table(met, [this](std::uint32_t record) { return records_[record].key.guid; });
    cache_.ports.reserve(met.size());
    for (const std::uint32_t met_one : met) {
      PortRecord& record = records_[met_one];
      record.place = static_cast<std::uint32_t>(cache_.ports.size());
      cache_.ports.push_back(cached_port(record.begin));
      cache_.ports.back().node = record.node;
    }
    for (std::uint32_t at = 0; at < cache_.ports.size(); ++at) cache_.nodes[cache_.ports[at].node].ports.push_back(at);
    for (CachedNode& node : cache_.nodes) check_ports(node);
  }

  /// The record that `key` means in node `at`, or none.
  std::uint32_t record_of(const PortTable& table, std::uint32_t at, const Key& key) const {
    std::uint32_t own = table.find(key);
    if (own == none) return none;
    const CachedNode& node = cache_.nodes[at];
    while (own != none && (records_[own].owner != node.guid || records_[own].taken)) own = table.next(own);
    if (own == none) throw UsageError(fmt::format("node 0x{:016x} names {}, which is not its own", node.guid.value, to_text(key)));
    if (key.number > node.num_ports)
      throw UsageError(fmt::format("node 0x{:016x} names {}, and has {} ports", node.guid.value, to_text(key), node.num_ports));
    return own;
  }

  void check_ports(CachedNode& node) const {
    const auto number = [this](std::uint32_t port) { return cache_.ports[port].number; };
    std::ranges::sort(node.ports, {}, number);
    const auto twice = std::ranges::adjacent_find(node.ports, {}, number);
    if (twice != node.ports.end())
      throw UsageError(fmt::format("node 0x{:016x} has two ports {}", node.guid.value, static_cast<unsigned>(number(*twice))));
  }

  void link(const PortTable& table) {
    for (const PortRecord& record : records_) {
      if (!record.taken || !record.linked) continue;
      std::uint32_t remote = none;
      for (std::uint32_t other = table.find(record.remote); other != none; other = table.next(other)) {
        if (!records_[other].taken) continue;
        const bool back = records_[other].linked && records_[other].remote == record.key;
        if (remote == none || back) remote = other;
        if (back) break;
      }
      if (remote != none) cache_.ports[record.place].remote = records_[remote].place;
    }
  }

  ByteReader in_;
  std::uint32_t node_count_{}, port_count_{};
  Guid from_;
  NetdiscCache cache_;
  std::vector<std::vector<Key>> keys_;  // by node index
  std::vector<PortRecord> records_;
};

void write_node(Writer& out, const NetdiscCache& cache, const CachedNode& node) {
  out.number(node.lid.value);
  out.number(node.lmc);
  out.number(node.enhanced_port0);
  out.data(node.switch_info);
  out.number(node.guid.value);
  out.number(node.type);
  out.number(node.num_ports);
  out.data(node.info);
  out.data(node.description);
  out.number(static_cast<std::uint8_t>(node.ports.size()));
  for (const std::uint32_t at : node.ports) {
    out.number(cache.ports[at].guid.value);
    out.number(cache.ports[at].number);
  }
}

void write_port(Writer& out, const NetdiscCache& cache, const CachedPort& port) {
  out.number(port.guid.value);
  out.number(port.number);
  out.number(port.external);
  out.number(port.lid.value);
  out.number(port.lmc);
  out.data(port.info);
  out.number(cache.nodes[port.node].guid.value);
  const bool linked = port.remote != none;
  out.number(static_cast<std::uint8_t>(linked));
  out.number(linked ? cache.ports[port.remote].guid.value : 0);
  out.number(linked ? cache.ports[port.remote].number : std::uint8_t{0});
}

}  // namespace

bool is_netdisc_cache(Bytes file) { return file.size() >= sizeof(magic) && ByteReader(file).number<std::uint32_t>() == magic; }

NetdiscCache read_netdisc_cache(Bytes file) { return CacheReader(file).read(); }

std::vector<std::uint8_t> netdisc_cache_file(const NetdiscCache& cache) {
  Writer out;
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

}  // namespace ib::formats
