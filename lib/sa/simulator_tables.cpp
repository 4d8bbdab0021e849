// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table is divided by its first key (simulator_keys.hpp). If a part still comes without its end, the next key divides the part.
// The values of most keys come from the end ports, and these from a query for each LID up to the top of the forwarding tables.
#include "sa/simulator_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>

#include "async/group.hpp"
#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/rmpp.hpp"
#include "mad/simulator.hpp"
#include "sa/pattern.hpp"
#include "sa/records.hpp"
#include "sa/simulator_keys.hpp"
#include "sa/subn_adm.hpp"
#include "sa/table_reply.hpp"

namespace ib::sa {
namespace {

constexpr mad::Reason in_parts = "tables in parts";
constexpr std::size_t open_queries = 64;         // limits the memory of waiting queries; the Transactor has windows of its own
constexpr std::uint64_t most_queries = 200'000;  // a fabric that needs more is not simulated
/// Limit for all parts together: the size of `most_queries` answers of a simulator.
constexpr std::size_t most_bytes = most_queries * mad::packet_size;

/// The order in which opensm lists nodes and ports: by the GUID as opensm's host reads its bytes. All usual hosts are
/// little-endian, so the last byte is the most significant. A table in parts then has the order of a whole table.
std::uint64_t opensm_rank(Guid guid) { return __builtin_bswap64(guid.value); }

/// `records` without repeated ones. The first of equal records stays.
std::vector<Bytes> distinct(const std::vector<Bytes>& records) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(records[a], records[b]); });
  std::vector<bool> known(records.size());
  for (std::size_t i = 1; i < order.size(); ++i) known[order[i]] = std::ranges::equal(records[order[i]], records[order[i - 1]]);
  std::vector<Bytes> result;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!known[i]) result.push_back(records[i]);
  }
  return result;
}

bool is_without_end(Bytes mad) {
  return mad::RmppView::is_active(mad) && mad::RmppView(mad).type() != rmpp::Type::data && mad.size() > mad::simulator_bytes;
}

/// The received part of a table.
struct Arrived {
  RecordBuffer records;
  bool whole = true;
  bool divisible = false;  ///< not whole, but narrower queries may find the missing records
};

Arrived parse(mad::Reply reply, const StructInfo& type) {
  Arrived arrived;
  arrived.divisible = is_without_end(reply.bytes);
  if (arrived.divisible) reply.bytes.resize(mad::simulator_bytes);
  const TableRows rows = table_rows(reply, least_size(type));
  arrived.whole = !arrived.divisible && !rows.torn;
  arrived.records = RecordBuffer(std::move(reply.bytes), rows.records.first(type.bytes));
  return arrived;
}

/// The reply that the SA would have sent with `records`. With `all` false, the reply is a torn table.
mad::Reply reply_with(const mad::Reply& first, const StructInfo& type, const std::vector<Bytes>& records, bool all) {
  const std::size_t step = (std::size_t{type.bytes} + 7) / 8 * 8, begin = mad::data_area(mad::mgmt_class::sa).offset;
  mad::Reply reply{{first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(begin)}, first.source};
  for (const Bytes record : records) {
    reply.bytes.insert(reply.bytes.end(), record.begin(), record.end());
    reply.bytes.resize(reply.bytes.size() + step - record.size());
  }
  finish_table(reply.bytes, step, !all);
  return reply;
}

/// Reads one table in parts.
class Parts {
 public:
  Parts(mad::Transactor& below, const mad::Request& request, const StructInfo& type) : below_(below), request_(request), type_(type) {}

  /// The answer to the request with the whole table. `reply` and `first` are the answer without its end. The result is torn if
  /// the whole table cannot be read.
  async::Task<mad::Reply> whole(const mad::Reply& reply, const Arrived& first) {
    const Pattern pattern(type_, request_.payload, request_.component_mask);
    const std::span<const TableKey> keys = table_keys(pattern, below_.end_port().lmc);
    const bool by_lids = std::ranges::find(keys, KeyValues::all_lids, &TableKey::values) != keys.end();
    const bool by_end_ports = needs_end_ports(keys, pattern);
    if (by_lids || by_end_ports) top_ = co_await top_lid();
    if (by_end_ports) co_await find_end_ports();
    std::vector<Part> parts;
    keys_ = keys;  // not set before: the queries for end ports must not be divided
    const Division division = by_end_ports && by_node_.empty() ? Division() : divide(pattern, 0);
    for (const Pattern& child : division.patterns) parts.push_back({child, division.next_key, RecordBuffer(type_.bytes)});
    const auto ask_part = [this](Part& part) { return ask(part.pattern, part.next_key, part.records); };
    co_await async::for_each(parts, open_queries, ask_part);
    std::vector<Bytes> records;
    for (const Part& part : parts) records.insert(records.end(), part.records.begin(), part.records.end());
    records = distinct(records);  // an SA may list a port once for each of its LIDs
    if (&type_ == &LinkRecord::info()) sort_links(records);
    if (by_lids) sort_paths(records);
    const bool all = !parts.empty() && !incomplete_;
    // After failed parts there may be fewer records than in the first answer.
    if (!all && records.size() < first.records.size()) records.assign(first.records.begin(), first.records.end());
    co_return reply_with(reply, type_, records, all);
  }

 private:
  struct EndPort {
    NodeRecord node;
    unsigned lids = 1;  // LIDs from node.lid on (LMC)
  };
  struct Division {
    std::vector<Pattern> patterns;
    std::size_t next_key;
    bool dense;  // the table ends at the first pattern without records
  };
  struct Part {
    Pattern pattern;
    std::size_t next_key;
    RecordBuffer records;
  };

  /// Sorts links into the order of a whole table, for the case that they were not requested node by node.
  void sort_links(std::vector<Bytes>& links) const {
    std::vector<std::size_t> places(std::size_t{UINT16_MAX} + 1, by_node_.size());
    for (std::size_t place = 0; place < by_node_.size(); ++place) places[by_node_[place].node.lid.value] = place;
    std::ranges::stable_sort(links, {}, [&places](const Bytes bytes) {
      const auto link = wire::unpack_short<LinkRecord>(bytes);
      return std::pair(places[link.from_lid.value], link.from_port);
    });
  }

  /// Sorts paths into the order of a whole table: by destination.
  static void sort_paths(std::vector<Bytes>& paths) {
    std::ranges::stable_sort(paths, {}, [](const Bytes bytes) { return opensm_rank(wire::unpack_short<PathRecord>(bytes).dgid.guid()); });
  }

  /// Whether `pattern` lacks a key whose values come from the end ports. Finding the end ports needs a query for each LID.
  static bool needs_end_ports(std::span<const TableKey> keys, const Pattern& pattern) {
    return std::ranges::any_of(keys, [&pattern](const TableKey& key) {
      const bool from_end_ports = key.values != KeyValues::all_lids && key.values != KeyValues::numbers && key.values != KeyValues::blocks;
      return from_end_ports && !pattern.matches_on(key.member);
    });
  }

  /// Requests the records that match `pattern`.
  async::Task<mad::Result<Arrived>> answer_to(const Pattern& pattern) {
    mad::Request request = sa_request(request_.path, pattern.record(), mad::method::get_table, pattern.bytes(), pattern.component_mask());
    request.attribute_modifier = request_.attribute_modifier;
    request.reason = in_parts;
    mad::Result<mad::Reply> reply = co_await below_.try_call(request);
    if (reply) co_return parse(std::move(*reply), pattern.record());
    if (is_no_records(reply.error())) co_return Arrived{};
    co_return reply.shared_error();
  }

  /// Stops all further queries.
  void give_up() { gave_up_ = incomplete_ = true; }

  /// Adds the records that match `pattern`, which has values for all keys before `next_key`.
  async::Task<> ask(Pattern pattern, std::size_t next_key, RecordBuffer& into) {
    if (gave_up_ || ++queries_ > most_queries) co_return give_up();
    mad::Result<Arrived> answer = co_await answer_to(pattern);
    if (!answer) co_return give_up();
    const Division division = answer->divisible ? divide(pattern, next_key) : Division();
    if (division.patterns.empty()) add(*answer, into);
    for (const Pattern& child : division.patterns) {
      const std::size_t before = into.size();
      co_await ask(child, division.next_key, into);
      if (division.dense && into.size() == before) break;
    }
  }

  /// Adds the records of a part that needs no division.
  void add(const Arrived& part, RecordBuffer& into) {
    bytes_ += part.records.size() * type_.bytes;
    if (bytes_ > most_bytes) return give_up();
    incomplete_ = incomplete_ || !part.whole;
    for (const Bytes record : part.records) into.push_back(record);
  }

  /// Divides `pattern` by the first key, from index `key` on, that `pattern` lacks and that has values: one pattern for each
  /// value.
  Division divide(const Pattern& pattern, std::size_t key) const {
    for (; key < keys_.size(); ++key) {
      if (pattern.matches_on(keys_[key].member)) continue;
      Division result{values(pattern, keys_[key]), key + 1, keys_[key].values == KeyValues::blocks && only_keys(pattern)};
      if (!result.patterns.empty()) return result;
    }
    return {};
  }

  /// Whether `pattern` requires nothing but values of keys, so that it excludes no other records.
  bool only_keys(const Pattern& pattern) const {
    return std::ranges::all_of(pattern.matches(), [this](const Pattern::Match& match) {
      return std::ranges::find(keys_, match.member, &TableKey::member) != keys_.end();
    });
  }

  std::vector<Pattern> values(const Pattern& pattern, const TableKey& key) const {
    std::vector<Pattern> result;
    const auto add = [&](const auto& value) {
      result.push_back(pattern);
      result.back().match(key.member, value);
    };
    const auto add_numbers = [&](unsigned first, unsigned count) {
      for (unsigned i = 0; i < count; ++i) add(std::uint64_t{first} + i);
    };
    const EndPort* end_port = key.of.empty() ? nullptr : end_port_of(pattern, key.of);
    switch (key.values) {
      case KeyValues::all_lids:
        add_numbers(1, top_.value);
        break;
      case KeyValues::even_lids:
        if (!lids_are_even()) break;
        [[fallthrough]];
      case KeyValues::lids:
        for (const EndPort& port : by_node_) add(std::uint64_t{port.node.lid.value});
        break;
      case KeyValues::lids_by_port:
        for (const EndPort& port : by_port_) add(std::uint64_t{port.node.lid.value});
        break;
      case KeyValues::gids:
        if (!key.of.empty() && pattern.matches_on(key.of)) break;
        for (const EndPort& port : by_port_)
          add(to_text(Gid::from(below_.end_port().default_gid().prefix(), port.node.node_info.port_guid)));
        break;
      case KeyValues::own_lids:
        if (end_port != nullptr) add_numbers(end_port->node.lid.value, end_port->lids);
        break;
      case KeyValues::ports:
        add_numbers(0, (end_port != nullptr ? end_port->node.node_info.num_ports : most_ports()) + 1U);
        break;
      case KeyValues::numbers:
      case KeyValues::blocks:
        add_numbers(key.first, key.count);
        break;
    }
    return result;
  }

  bool lids_are_even() const {
    const unsigned step = std::max(1U << below_.end_port().lmc, std::ranges::max(by_node_, {}, &EndPort::lids).lids);
    return std::ranges::all_of(by_node_, [step](const EndPort& port) { return port.node.lid.value % step == 0; });
  }

  unsigned most_ports() const {
    return std::ranges::max(by_node_, {}, [](const EndPort& port) { return port.node.node_info.num_ports; }).node.node_info.num_ports;
  }

  /// The end port whose LID or GID is the value of `member` in `pattern`. Null if there is none.
  const EndPort* end_port_of(const Pattern& pattern, std::string_view member) const {
    if (!pattern.matches_on(member)) return nullptr;
    const Value value = read_path(pattern.bytes(), *find_path(pattern.record(), member));
    const auto found = std::ranges::find_if(by_port_, [&](const EndPort& port) {
      if (const Lid* lid = std::get_if<Lid>(&value))
        return lid->value >= port.node.lid.value && lid->value - port.node.lid.value < static_cast<int>(port.lids);
      const Gid* gid = std::get_if<Gid>(&value);
      return gid != nullptr && gid->guid() == port.node.node_info.port_guid;
    });
    return found == by_port_.end() ? nullptr : &*found;
  }

  async::Task<> find_end_ports() {
    std::vector<Arrived> found(top_.value + std::size_t{1});
    const auto ask = [this, &found](unsigned lid) { return ask_node(lid, found[lid]); };
    co_await async::for_each(std::views::iota(1U, top_.value + 1U), open_queries, ask);
    for (const Arrived& node_records : found) {
      incomplete_ = incomplete_ || !node_records.whole;
      for (const Bytes bytes : node_records.records) {
        const auto node = wire::unpack_short<NodeRecord>(bytes);
        if (!by_node_.empty() && by_node_.back().node.lid == node.lid) {
          ++by_node_.back().lids;
        } else {
          by_node_.push_back({node});
        }
      }
    }
    by_port_ = by_node_;
    std::ranges::sort(by_node_, {}, [](const EndPort& port) {
      return std::pair(opensm_rank(port.node.node_info.node_guid), port.node.node_info.local_port_num);
    });
    std::ranges::sort(by_port_, {}, [](const EndPort& port) { return opensm_rank(port.node.node_info.port_guid); });
  }

  async::Task<> ask_node(unsigned lid, Arrived& into) {
    if (gave_up_ || ++queries_ > most_queries) co_return give_up();
    Pattern pattern(NodeRecord::info());
    pattern.match("LID", lid);
    mad::Result<Arrived> answer = co_await answer_to(pattern);
    if (!answer) co_return give_up();
    into = std::move(*answer);
  }

  /// An upper limit of the LIDs of end ports. Switches report their highest LID. Without switches, the ends of the link tell.
  async::Task<Lid> top_lid() {
    Lid top = std::max(below_.end_port().lid, below_.end_port().sm_lid);
    const Pattern switches(SwitchInfoRecord::info()), links(LinkRecord::info());
    const Arrived some_switches = co_await some_of(switches);
    for (const Bytes bytes : some_switches.records)
      top = std::max(top, Lid{wire::unpack_short<SwitchInfoRecord>(bytes).switch_info.linear_fdb_top});
    const Arrived some_links = co_await some_of(links);
    for (const Bytes bytes : some_links.records) {
      const auto link = wire::unpack_short<LinkRecord>(bytes);
      top = std::max({top, link.from_lid, link.to_lid});
    }
    co_return std::min(top, Lid{last_unicast_lid});
  }

  /// The records of the first answer, which may be a part of the table. Empty on failure.
  async::Task<Arrived> some_of(const Pattern& pattern) {
    mad::Result<Arrived> answer = co_await answer_to(pattern);
    if (!answer) co_return Arrived();
    co_return std::move(*answer);
  }

  mad::Transactor& below_;
  const mad::Request& request_;
  const StructInfo& type_;
  std::vector<EndPort> by_node_, by_port_;
  std::span<const TableKey> keys_;
  Lid top_;
  std::uint64_t queries_ = 0;
  std::size_t bytes_ = 0;  // of all received records
  bool incomplete_ = false, gave_up_ = false;
};

}  // namespace

SimulatorTables::SimulatorTables(mad::Transactor& below, std::function<void(std::string_view)> tell)
    : Transactor(below.end_port()), below_(below), tell_(std::move(tell)) {
  sa_path() = below.sa_path();
}

mad::Task<mad::Result<mad::Reply>> SimulatorTables::try_call(const mad::Request& request) {
  mad::Result<mad::Reply> reply = co_await below_.try_call(request);
  const bool lists = request.mgmt_class == mad::mgmt_class::sa && mad::is_list_method(request.method);
  if (!reply || !lists || !is_without_end(reply->bytes)) co_return reply;
  const StructInfo* type = find_attribute(request.mgmt_class, request.class_version, request.attribute_id);
  if (type == nullptr) co_return reply;
  const bool divisible = request.method == mad::method::get_table;
  const StructInfo& answer = Pattern(*type).answer();
  const Arrived first = parse(*reply, answer);
  if (!divisible) {
    const std::vector<Bytes> records(first.records.begin(), first.records.end());
    co_return reply_with(*reply, answer, records, false);
  }
  Parts parts(below_, request, *type);
  mad::Reply whole = co_await parts.whole(*reply, first);
  if (tell_) tell_(fmt::format("The {} table came back cut: asked for it in parts.", type->iba_name));
  co_return whole;
}

}  // namespace ib::sa
