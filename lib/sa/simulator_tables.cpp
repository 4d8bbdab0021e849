// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Each kind of record has keys to divide its table by, the coarsest first. A part that still comes cut is divided by the next key.
// The values of a key come from the end ports, and these from asking about every LID up to the top of the forwarding tables.
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
#include "sa/subn_adm.hpp"

namespace ib::sa {
namespace {

constexpr std::size_t open_queries = 64;         // the Transactor has windows of its own; this bounds what waits for them
constexpr std::uint64_t most_queries = 200'000;  // a fabric for which this is not enough is not simulated
/// Of all parts together: more than as many answers of a simulator have.
constexpr std::size_t most_bytes = most_queries * mad::packet_size;

enum class Values : std::uint8_t {
  lids,          ///< the LIDs of all end ports, node by node
  even_lids,     ///< the same, if none is what an SA that rounds LIDs by its LMC makes another of: see links.hpp
  lids_by_port,  ///< the same in the order of port GUIDs
  gids,          ///< the GIDs of all end ports
  own_lids,      ///< all LIDs (LMC) of the end port that `of` names
  ports,         ///< the ports of the node that `of` names, or as many as any node has
  numbers,       ///< from `first` on, as many as there can be
  blocks,        ///< from 0 on, as many as there can be; after one that is not there comes no other
};

struct Key {
  std::string_view member;
  Values values;
  std::string_view of = {};  ///< the member that names the end port; for GIDs the LID that may stand in for them
  unsigned first = 0, count = 0;
};

// Block sizes and table lengths: IBA 14.2.5, 14.2.5.6 (GUIDCap), 14.2.5.4 (the caps of a switch).
constexpr Key node_keys[] = {{"LID", Values::lids}};
constexpr Key port_info_keys[] = {{"endportLID", Values::lids}, {"portNum", Values::ports, "endportLID"}};
constexpr Key port_info_extended_keys[] = {{"LID", Values::lids}, {"portNum", Values::ports, "LID"}};
constexpr Key link_keys[] = {{"fromLID", Values::even_lids}, {"fromPort", Values::ports, "fromLID"}, {"toPort", Values::ports, "toLID"}};
constexpr Key guid_info_keys[] = {{"LID", Values::lids}, {"blockNum", Values::blocks, {}, 0, 32}};
constexpr Key lft_keys[] = {{"LID", Values::lids}, {"blockNum", Values::blocks, {}, 0, 768}};
constexpr Key mft_keys[] = {{"LID", Values::lids}, {"position", Values::numbers, {}, 0, 16}, {"blockNum", Values::blocks, {}, 0, 512}};
constexpr Key pkey_keys[] = {{"LID", Values::lids_by_port}, {"portNum", Values::ports, "LID"}, {"blockNum", Values::blocks, {}, 0, 2048}};
constexpr Key sl_to_vl_keys[] = {
    {"LID", Values::lids_by_port}, {"outputPortNum", Values::ports, "LID"}, {"inputPortNum", Values::ports, "LID"}};
constexpr Key vl_arbitration_keys[] = {
    {"LID", Values::lids_by_port}, {"outputPortNum", Values::ports, "LID"}, {"blockNum", Values::numbers, {}, 1, 4}};
constexpr Key mc_member_keys[] = {{"MLID", Values::numbers, {}, 0xc000, 1024}, {"portGID", Values::gids}};
constexpr Key path_keys[] = {
    {"DGID", Values::gids, "DLID"}, {"SGID", Values::gids, "SLID"}, {"DLID", Values::own_lids, "DGID"}, {"SLID", Values::own_lids, "SGID"}};
constexpr Key service_keys[] = {{"serviceGID", Values::gids}};
constexpr Key inform_info_keys[] = {{"subscriberGID", Values::gids}};

std::span<const Key> keys_of(const StructInfo& record) {
  const auto is = [&record](const StructInfo& info) { return &record == &info; };
  if (is(NodeRecord::info()) || is(SwitchInfoRecord::info()) || is(SMInfoRecord::info())) return node_keys;
  if (is(PortInfoRecord::info())) return port_info_keys;
  if (is(PortInfoExtendedRecord::info())) return port_info_extended_keys;
  if (is(LinkRecord::info())) return link_keys;
  if (is(GuidInfoRecord::info())) return guid_info_keys;
  if (is(LinearForwardingTableRecord::info())) return lft_keys;
  if (is(MulticastForwardingTableRecord::info())) return mft_keys;
  if (is(PKeyTableRecord::info())) return pkey_keys;
  if (is(SLToVLMappingTableRecord::info())) return sl_to_vl_keys;
  if (is(VLArbitrationTableRecord::info())) return vl_arbitration_keys;
  if (is(MCMemberRecord::info())) return mc_member_keys;
  if (is(PathRecord::info())) return path_keys;
  if (is(ServiceRecord::info())) return service_keys;
  if (is(InformInfoRecord::info())) return inform_info_keys;
  return {};
}

/// opensm lists nodes and ports by their GUID as its host reads the bytes, on all hosts of our days the last one first. A table in
/// parts then comes in the order of a whole one.
std::uint64_t opensm_rank(Guid guid) { return __builtin_bswap64(guid.value); }

/// `records` without those that came before.
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

/// What arrived of a table.
struct Arrived {
  RecordBuffer records;
  bool whole = true;
  bool divisible = false;  ///< not whole, but narrower queries may bring what is missing
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

/// The answer that `first` would have been with `records`: all of them, or what there is of a table that goes on.
mad::Reply reply_with(const mad::Reply& first, const StructInfo& type, const std::vector<Bytes>& records, bool all) {
  const std::size_t step = (std::size_t{type.bytes} + 7) / 8 * 8, begin = mad::data_area(mad::mgmt_class::sa).offset;
  constexpr std::uint8_t only = rmpp::flags::first | rmpp::flags::last;
  constexpr std::size_t counted_header = 20;  // of the SA, in PayloadLength (IBA 13.6.2.3)
  mad::Packet header{};
  std::copy_n(first.bytes.begin(), begin, header.begin());
  const std::size_t size = records.size() * step + (all ? 0 : 1);
  mad::set_rmpp(header, rmpp::Type::data, only, rmpp::Status::success, 1, static_cast<std::uint32_t>(size + counted_header));
  store_be(&header[mad::attribute_offset_offset], static_cast<std::uint16_t>(size == 0 ? 0 : step / 8));
  mad::Reply reply{{header.begin(), header.begin() + static_cast<std::ptrdiff_t>(begin)}, first.source};
  for (const Bytes record : records) {
    reply.bytes.insert(reply.bytes.end(), record.begin(), record.end());
    reply.bytes.resize(reply.bytes.size() + step - record.size());
  }
  if (!all) reply.bytes.push_back(0xff);  // the beginning of a record that is not there: the table is torn
  return reply;
}

/// One table that is asked for in parts.
class Parts {
 public:
  Parts(mad::Transactor& below, const mad::Request& request, const StructInfo& type) : below_(below), request_(request), type_(type) {}

  /// The answer to the request with the whole table, of which `first` came in `reply`; torn where it can not be had whole.
  async::Task<mad::Reply> whole(const mad::Reply& reply, const Arrived& first) {
    const Pattern pattern(type_, request_.payload, request_.component_mask);
    const std::span<const Key> keys = keys_of(type_);
    const bool by_end_ports = needs_end_ports(keys, pattern);
    if (by_end_ports) co_await find_end_ports();
    std::vector<Part> parts;
    keys_ = keys;  // not before: the queries for end ports are not to be divided
    const Division division = by_end_ports && by_node_.empty() ? Division() : divide(pattern, 0);
    for (const Pattern& child : division.patterns) parts.push_back({child, division.next_key, RecordBuffer(type_.bytes)});
    const auto ask_part = [this](Part& part) { return ask(part.pattern, part.next_key, part.records); };
    co_await async::for_each(parts, open_queries, ask_part);
    std::vector<Bytes> records;
    for (const Part& part : parts) records.insert(records.end(), part.records.begin(), part.records.end());
    records = distinct(records);  // an SA may answer for a port by each of its LIDs
    if (&type_ == &LinkRecord::info()) sort_links(records);
    const bool all = !parts.empty() && !incomplete_;
    // Parts that failed may leave less than what came at first.
    if (!all && records.size() < first.records.size()) records.assign(first.records.begin(), first.records.end());
    co_return reply_with(reply, type_, records, all);
  }

 private:
  struct EndPort {
    NodeRecord node;
    unsigned lids = 1;  // from node.lid on (LMC)
  };
  struct Division {
    std::vector<Pattern> patterns;
    std::size_t next_key;
    bool dense;  // the first pattern without records is the end
  };
  struct Part {
    Pattern pattern;
    std::size_t next_key;
    RecordBuffer records;
  };

  /// Brings links into the order of whole tables where they were not asked for node by node.
  void sort_links(std::vector<Bytes>& links) const {
    std::vector<std::size_t> places(std::size_t{UINT16_MAX} + 1, by_node_.size());
    for (std::size_t place = 0; place < by_node_.size(); ++place) places[by_node_[place].node.lid.value] = place;
    std::ranges::stable_sort(links, {}, [&places](const Bytes bytes) {
      const auto link = wire::unpack_short<LinkRecord>(bytes);
      return std::pair(places[link.from_lid.value], link.from_port);
    });
  }

  /// Whether `pattern` leaves a key open whose values come from the end ports: to find these takes a query for each LID.
  static bool needs_end_ports(std::span<const Key> keys, const Pattern& pattern) {
    return std::ranges::any_of(keys, [&pattern](const Key& key) {
      return key.values != Values::numbers && key.values != Values::blocks && !pattern.matches_on(key.member);
    });
  }

  /// What arrives of a table.
  async::Task<mad::Result<Arrived>> answer_to(const Pattern& pattern) {
    mad::Request request = sa_request(request_.path, pattern.record(), mad::method::get_table, pattern.bytes(), pattern.component_mask());
    request.attribute_modifier = request_.attribute_modifier;
    request.reason = request_.reason;
    mad::Result<mad::Reply> reply = co_await below_.try_call(request);
    if (reply) co_return parse(std::move(*reply), pattern.record());
    if (is_no_records(reply.error())) co_return Arrived{};
    co_return reply.shared_error();
  }

  /// No more is asked for.
  void give_up() { gave_up_ = incomplete_ = true; }

  /// Adds the records that match `pattern`, which has values for the keys before `next_key`.
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

  /// Adds the records of a part that is not divided.
  void add(const Arrived& part, RecordBuffer& into) {
    bytes_ += part.records.size() * type_.bytes;
    if (bytes_ > most_bytes) return give_up();
    incomplete_ = incomplete_ || !part.whole;
    for (const Bytes record : part.records) into.push_back(record);
  }

  /// `pattern` with each value of the first key, from `key` on, that it does not have and that has values.
  Division divide(const Pattern& pattern, std::size_t key) const {
    for (; key < keys_.size(); ++key) {
      if (pattern.matches_on(keys_[key].member)) continue;
      Division result{values(pattern, keys_[key]), key + 1, keys_[key].values == Values::blocks && only_keys(pattern)};
      if (!result.patterns.empty()) return result;
    }
    return {};
  }

  /// Whether `pattern` leaves out nothing of what has its keys.
  bool only_keys(const Pattern& pattern) const {
    return std::ranges::all_of(pattern.matches(), [this](const Pattern::Match& match) {
      return std::ranges::find(keys_, match.member, &Key::member) != keys_.end();
    });
  }

  std::vector<Pattern> values(const Pattern& pattern, const Key& key) const {
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
      case Values::even_lids:
        if (!lids_are_even()) break;
        [[fallthrough]];
      case Values::lids:
        for (const EndPort& port : by_node_) add(std::uint64_t{port.node.lid.value});
        break;
      case Values::lids_by_port:
        for (const EndPort& port : by_port_) add(std::uint64_t{port.node.lid.value});
        break;
      case Values::gids:
        if (!key.of.empty() && pattern.matches_on(key.of)) break;
        for (const EndPort& port : by_port_)
          add(to_text(Gid::from(below_.end_port().default_gid().prefix(), port.node.node_info.port_guid)));
        break;
      case Values::own_lids:
        if (end_port != nullptr) add_numbers(end_port->node.lid.value, end_port->lids);
        break;
      case Values::ports:
        add_numbers(0, (end_port != nullptr ? end_port->node.node_info.num_ports : most_ports()) + 1U);
        break;
      case Values::numbers:
      case Values::blocks:
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

  /// The end port whose LID or GID stands in a member of `pattern`; null where it has none.
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
    const Lid top = co_await top_lid();
    std::vector<Arrived> found(top.value + std::size_t{1});
    const auto ask = [this, &found](unsigned lid) { return ask_node(lid, found[lid]); };
    co_await async::for_each(std::views::iota(1U, top.value + 1U), open_queries, ask);
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

  /// No end port has a higher LID. Switches say so; without one there are two ends of a cable.
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

  /// The records that arrive at once; none where that fails.
  async::Task<Arrived> some_of(const Pattern& pattern) {
    mad::Result<Arrived> answer = co_await answer_to(pattern);
    if (!answer) co_return Arrived();
    co_return std::move(*answer);
  }

  mad::Transactor& below_;
  const mad::Request& request_;
  const StructInfo& type_;
  std::vector<EndPort> by_node_, by_port_;
  std::span<const Key> keys_;
  std::uint64_t queries_ = 0;
  std::size_t bytes_ = 0;  // of all records that came
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
