// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records that are named by a LID are found by an index. For the other components, TableMatch looks at each record.
#include "sa/stored_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "async/group.hpp"
#include "iba-gen/mad.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "mad/rpc_names.hpp"
#include "sa/records.hpp"
#include "sa/table_match.hpp"

namespace ib::sa {
namespace {

std::vector<QueryInfo> make_infos() {
  std::vector<QueryInfo> made;
  for (const QueryInfo& query : all_queries()) {
    if (!query.by_sa() || query.part.empty()) continue;
    made.push_back(query);
    // The groups are all that an SA gives without an SM_Key.
    if (query.info == &MCMemberRecord::info()) made.emplace_back(query).trust = Trust::none;
  }
  return made;
}

constexpr std::size_t tables_at_a_time = 4;  // an SA works on one query after another; a table may take many megabytes

/// The query that reads the whole table. Of paths, those that begin at this end port are kept.
Pattern query_of(const QueryInfo& table, const sys::EndPort& end_port) {
  Pattern pattern(*table.info);
  if (table.info == &PathRecord::info()) pattern.match("SGID", to_text(end_port.default_gid()));
  return pattern;
}

bool exists_once(const StructInfo& record) { return &record == &mad::ClassPortInfo::info(); }

/// Reads tables. Lives as long as the task that reads.
class TableReader {
 public:
  TableReader(mad::Transactor& transactor, TableReading reading, std::size_t tables)
      : transactor_(transactor), reading_(std::move(reading)), tables_(tables) {}

  async::Task<> read(const QueryInfo& table) {
    const bool with_key = table.trust == Trust::keys ? reading_.with_keys : table.trust != Trust::none;
    mad::Result<mad::Reply> reply = co_await fetch(table, with_key);
    // opensm does not answer a query with a wrong SM_Key.
    if (!reply && with_key && table.trust != Trust::required) reply = co_await fetch(table, false);
    take(table, reply);
    if (reading_.progress) reading_.progress(++done_, tables_);
  }

  std::vector<TableFailure> failures;  // as they come

 private:
  /// After a query that a sound SA answers, and during which it answered no other one, none is sent: it is silent.
  async::Task<mad::Result<mad::Reply>> fetch(const QueryInfo& table, bool with_key) {
    if (silence_) co_return silence_;
    path::Path path = transactor_.sa_path();
    constexpr std::uint64_t usual_key = 1;
    if (with_key && path.ib().sm_key == 0) path.ib().sm_key = usual_key;
    if (!with_key) path.ib().sm_key = 0;
    const Pattern pattern = query_of(table, transactor_.end_port());
    const std::uint8_t method = exists_once(*table.info) ? mad::method::get : mad::method::get_table;
    const mad::Request request = sa_request(path, *table.info, method, pattern.bytes(), pattern.component_mask());
    const std::size_t answers = answers_;
    mad::Result<mad::Reply> reply = co_await transactor_.try_call(request);
    if (reply || !mad::is_timeout(reply.error())) {
      ++answers_;
    } else if (!with_key && answers == answers_) {
      silence_ = reply.shared_error();
    }
    co_return reply;
  }

  void take(const QueryInfo& table, const mad::Result<mad::Reply>& reply) {
    if (!reply) {
      failures.push_back({&table, reply.shared_error(), reply.error().message()});
      return;
    }
    try {
      const TableRows rows = exists_once(*table.info) ? TableRows{} : table_rows(*reply, least_size(*table.info));
      const std::size_t count = rows.records.size();
      // The part of a torn table that came is kept; its reader sees that it is not complete.
      if (rows.torn)
        failures.push_back(
            {&table, nullptr, count == 1 ? "only its first record arrived" : fmt::format("only its first {} records arrived", count)});
    } catch (const Error& error) {  // the answer contradicts itself
      failures.push_back({&table, nullptr, error.message()});
      return;
    }
    if (reading_.keep) reading_.keep(table, *reply);
  }

  mad::Transactor& transactor_;
  TableReading reading_;
  std::size_t tables_, done_ = 0, answers_ = 0;
  std::shared_ptr<const mad::MadError> silence_;  // of the query that showed that the SA is silent
};

/// An answer of one MAD to `request`, with its components (IBA 13.4.2). An SA answers with the SM_Key 0 (IBA C15-0.1.5).
std::vector<std::uint8_t> answer_with(const mad::Request& request, std::uint16_t status) {
  std::vector<std::uint8_t> mad = mad::to_mad(request);
  mad.resize(mad::packet_size);
  mad[3] = mad::response_method(request.method);
  store_be(&mad[4], status);
  std::fill_n(mad.begin() + sm_key_at, sm_key_size, std::uint8_t{0});
  return mad;
}

// Queries for paths, answered from the table of the paths from this end port. A subnet administrator computes a path for each query. Here a
// query selects stored paths as it selects records of any other table: what it says of MTU, rate and life time is compared with the values
// of the stored paths, which are the greatest.

// Component mask bits (IBA 15.2.5.16).
constexpr std::uint64_t service_id = mask_bit(0) | mask_bit(1), dgid = mask_bit(2), sgid = mask_bit(3), slid = mask_bit(5),
                        reversible = mask_bit(11), numb_path = mask_bit(12), p_key = mask_bit(13), qos_class = mask_bit(14),
                        sl = mask_bit(15);

PathRecord wanted_path(const mad::Request& request) { return wire::unpack_short<PathRecord>(request.payload); }

bool is_foreign(const Gid& gid, const sys::EndPort& end_port) {
  return gid.prefix() != link_local_prefix && gid.prefix() != end_port.default_gid().prefix();
}
bool is_multicast(const Gid& gid) { return gid.bytes[0] == 0xff; }

/// Whether the query is for paths from this end port, and from no other one.
bool starts_here(const PathRecord& wanted, std::uint64_t mask, const sys::EndPort& end_port) {
  const auto is_ours = [&](const Gid& own) { return own != Gid{} && own.guid() == wanted.sgid.guid(); };
  const bool by_gid = (mask & sgid) != 0, by_lid = (mask & slid) != 0;
  if (by_gid && (is_foreign(wanted.sgid, end_port) || std::ranges::none_of(end_port.gids, is_ours))) return false;
  if (by_lid && (wanted.slid < end_port.lid || wanted.slid.value >= end_port.lid.value + (1U << end_port.lmc))) return false;
  return by_gid || by_lid;
}

/// The rows that have the wanted values of all components that select paths, but for those in `but`.
std::vector<Bytes> selected_paths(const mad::Request& request, const RecordRows& rows, std::uint64_t but) {
  const PathRecord wanted = wanted_path(request);
  // That the paths begin here is known. A path that need not be reversible may be.
  std::uint64_t mask = request.component_mask & ~(sgid | service_id | qos_class | numb_path | but);
  if (wanted.reversible == 0) mask &= ~reversible;
  const TableMatch match(PathRecord::info(), request.payload, mask);
  std::vector<Bytes> found;
  std::ranges::copy_if(rows, std::back_inserter(found), match);
  return found;
}

/// Why `rows`, the PathRecords whose SGID is the default GID of `end_port`, cannot answer `request`, as a sentence. `has_qos` says whether
/// paths depend on a service or QoS class; nothing if that is not known.
std::optional<std::string> not_in_paths(const mad::Request& request, const RecordRows& rows, const sys::EndPort& end_port,
                                        std::optional<bool> has_qos) {
  constexpr std::uint16_t partition_bits = 0x7fff;
  const PathRecord wanted = wanted_path(request);
  const std::uint64_t mask = request.component_mask;
  if ((mask & dgid) != 0 && is_multicast(wanted.dgid)) return "Paths to multicast groups were not read.";
  if ((mask & dgid) != 0 && is_foreign(wanted.dgid, end_port)) return "Paths to other subnets were not read.";
  if (!starts_here(wanted, mask, end_port)) return fmt::format("Only paths from {} were read.", to_text(end_port.default_gid()));
  if ((mask & (service_id | qos_class)) != 0 && has_qos.value_or(true))
    return "Paths were read without a service and without a QoS class, but this subnet's paths depend on them.";
  if ((mask & (p_key | sl)) == 0) return {};
  for (const Bytes row : selected_paths(request, rows, p_key | sl)) {
    const auto path = wire::unpack_short<PathRecord>(row);
    if ((mask & p_key) != 0 && (path.p_key & partition_bits) != (wanted.p_key & partition_bits))
      return fmt::format("Paths were read without a P_Key: what they are with P_Key {:#06x} is not known.", wanted.p_key);
    if ((mask & sl) != 0 && path.sl != wanted.sl)
      return fmt::format("Paths were read without a service level: what they are on SL {} is not known.", wanted.sl);
  }
  return {};
}

/// The paths that answer a request that not_in_paths() accepts, in the order of the table: for a SubnAdmGet the first one, else of each
/// pair of GIDs as many as NumbPath says.
std::vector<Bytes> matching_paths(const mad::Request& request, const RecordRows& rows) {
  std::vector<Bytes> paths = selected_paths(request, rows, p_key | sl);
  if (request.method == mad::method::get) {
    paths.resize(std::min<std::size_t>(paths.size(), 1));
  } else if ((request.component_mask & numb_path) != 0) {
    const unsigned most = wanted_path(request).numb_path;
    std::map<Gid, unsigned> counts;
    std::erase_if(paths, [&](Bytes row) { return counts[wire::unpack_short<PathRecord>(row).dgid]++ >= most; });
  }
  return paths;
}

constexpr std::uint16_t invalid_request = 0x0200;  // the 16 bits of the status; IBA 15.2.4

/// The first component of most records: a LID that names a port.
bool begins_with_lid(const StructInfo& record) {
  return record.fields.front().kind == FieldKind::lid && record.fields.front().mask_bit == 0;
}
Lid first_lid(Bytes row) { return Lid{static_cast<std::uint16_t>(wire::get_bits(row, 0, 16))}; }

std::uint64_t key_component(const StructInfo& record) {
  if (&record == &PortInfoRecord::info()) return mask_bit(3);
  if (&record == &ServiceRecord::info()) return mask_bit(5);
  return 0;
}

constexpr std::uint64_t port_options = mask_bit(2), member_port_gid = mask_bit(1), member_join_state = mask_bit(16);
constexpr std::uint8_t full_port_info = 0x80;  // of the options of a PortInfoRecord

std::size_t whole_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

std::span<const QueryInfo> stored_table_infos() {
  static const std::vector<QueryInfo> all = make_infos();
  return all;
}

std::string_view table_name(const QueryInfo& table) {
  return table.info == &MCMemberRecord::info() && table.trust == Trust::none ? "MCMemberRecord groups" : table.name.view();
}

const QueryInfo* find_stored_table(std::string_view name) {
  const std::span<const QueryInfo> all = stored_table_infos();
  const auto found = std::ranges::find(all, name, table_name);
  return found == all.end() ? nullptr : &*found;
}

const QueryInfo* stored_table_for(const mad::Request& request) {
  const bool trusted = request.path.ib().sm_key != 0;
  for (const QueryInfo& table : stored_table_infos()) {
    if (table.info->attribute_id != request.attribute_id) continue;
    if (table.info != &MCMemberRecord::info() || trusted == (table.trust == Trust::required)) return &table;
  }
  return nullptr;
}

async::Task<std::vector<TableFailure>> read_tables(mad::Transactor& transactor, std::vector<const QueryInfo*> tables,
                                                   TableReading reading) {
  TableReader reader(transactor, std::move(reading), tables.size());
  if (!tables.empty()) co_await reader.read(*tables.front());  // shows whether the SA answers
  const std::span others = std::span(tables).subspan(std::min<std::size_t>(tables.size(), 1));
  const auto read = [&reader](const QueryInfo* table) { return reader.read(*table); };
  co_await async::for_each(others, tables_at_a_time, read);
  std::ranges::sort(reader.failures, {}, [&tables](const TableFailure& failure) { return std::ranges::find(tables, failure.table); });
  co_return std::move(reader.failures);
}

void hide_keys(const QueryInfo& table, MutableBytes mad) {
  const auto hide = [mad](std::size_t at, std::size_t size) {
    const std::size_t begin = std::min(at, mad.size());
    std::ranges::fill(mad.subspan(begin, std::min(size, mad.size() - begin)), std::uint8_t{0});
  };
  hide(sm_key_at, sm_key_size);
  const std::size_t begin = mad::data_area(mad::mgmt_class::sa).offset;
  const std::size_t step =
      exists_once(*table.info) || mad.size() < begin ? 0 : std::size_t{8} * load_be<std::uint16_t>(&mad[mad::attribute_offset_offset]);
  const std::vector<FieldPlace> places = secret_places(*table.info);
  for (std::size_t at = begin; at < mad.size() && !places.empty(); at += step) {
    for (const FieldPlace& place : places) hide(at + place.offset, place.size);
    if (step == 0) return;
  }
}

std::shared_ptr<const mad::MadError> error_reply(const mad::Request& request, std::uint16_t status) {
  const std::vector<std::uint8_t> sent = mad::to_mad(request), mad = answer_with(request, status);  // as opensm's
  return mad::status_error(sent, mad, request.path);
}

mad::Result<mad::Reply> table_reply(const mad::Request& request, std::size_t step, std::span<const Bytes> records, bool torn) {
  constexpr std::size_t counted_header = 20;  // of the SA header, counted in PayloadLength (IBA 13.6.2.3)
  const bool is_get = request.method == mad::method::get;
  if (is_get && records.size() != 1) {
    constexpr unsigned class_specific = 8;
    const auto status = records.empty() ? status::no_records : status::too_many_records;
    return error_reply(request, static_cast<std::uint16_t>(status << class_specific));
  }
  std::vector<std::uint8_t> mad = answer_with(request, 0);
  const std::size_t begin = mad::data_area(mad::mgmt_class::sa).offset;
  mad.resize(begin);
  store_be(&mad[mad::attribute_offset_offset], static_cast<std::uint16_t>(records.empty() && !torn ? 0 : step / 8));
  for (const Bytes record : records) {
    const std::size_t end = mad.size() + step;
    const Bytes part = record.first(std::min(record.size(), step));
    mad.insert(mad.end(), part.begin(), part.end());
    mad.resize(end);
  }
  if (is_get) {
    mad.resize(mad::packet_size);
  } else {
    // As after the reassembly of its segments. The beginning of a missing record makes a table torn.
    if (torn) mad.push_back(0xff);
    mad::Packet header{};
    std::copy_n(mad.begin(), begin, header.begin());
    mad::set_rmpp(header, rmpp::Type::data, rmpp::flags::first | rmpp::flags::last, rmpp::Status::success, 1,
                  static_cast<std::uint32_t>(mad.size() - begin + counted_header));
    std::copy_n(header.begin(), begin, mad.begin());
  }
  return mad::Reply{std::move(mad), {}};
}

/// A table as it is loaded.
struct StoredAnswers::Stored {
  std::optional<mad::Result<mad::Reply>> answer;
  TableRows table;
  std::size_t step{};                                           ///< bytes of a record in an answer
  std::vector<std::pair<std::uint16_t, std::uint32_t>> by_lid;  ///< first LID and row, sorted
};

StoredAnswers::StoredAnswers(const sys::EndPort& end_port, Load load) : end_port_(end_port), load_(std::move(load)) {}
StoredAnswers::~StoredAnswers() = default;

StoredAnswers::Stored& StoredAnswers::stored(const QueryInfo& table) {
  std::unique_ptr<Stored>& slot = tables_[&table];
  if (slot) return *slot;
  auto loaded = std::make_unique<Stored>();
  loaded->answer = load_(table);
  const StructInfo& record = *table.info;
  if (loaded->answer && *loaded->answer && (*loaded->answer)->bytes.size() < mad::data_area(mad::mgmt_class::sa).offset)
    throw Error(fmt::format("The stored {} ends within its header", table_name(table)));
  if (loaded->answer && *loaded->answer && &record != &mad::ClassPortInfo::info()) {
    loaded->table = table_rows(**loaded->answer, least_size(record));
    loaded->table.records = loaded->table.records.first(record.bytes);
    loaded->step = std::size_t{8} * load_be<std::uint16_t>(&(*loaded->answer)->bytes[mad::attribute_offset_offset]);
    if (loaded->table.records.empty()) loaded->step = whole_words(record.bytes);
    if (begins_with_lid(record)) {
      std::uint32_t at = 0;
      for (const Bytes row : loaded->table.records) loaded->by_lid.emplace_back(first_lid(row).value, at++);
      std::ranges::sort(loaded->by_lid);
    }
  }
  slot = std::move(loaded);
  return *slot;
}

std::optional<bool> StoredAnswers::has_qos() {
  const Stored& info = stored(*find_stored_table("ClassPortInfo"));
  if (!info.answer || !*info.answer) return {};
  const auto port = wire::unpack_short<mad::ClassPortInfo>((*info.answer)->payload());
  return (static_cast<std::uint32_t>(port.capability_mask2) & capability_mask2::is_qos_supported) != 0;
}

const QueryInfo* StoredAnswers::table_of(const mad::Request& request) {
  const bool selects_member = request.attribute_id == MCMemberRecord::attribute_id && (request.component_mask & member_port_gid) != 0;
  return selects_member ? find_stored_table("MCMemberRecord") : stored_table_for(request);
}

bool StoredAnswers::is_unread(const mad::Request& request) {
  const QueryInfo* table = table_of(request);
  return table != nullptr && !stored(*table).answer;
}

std::optional<std::string> StoredAnswers::not_in_table(const mad::Request& request) {
  if (mad::changes_something(request)) return "A change of the subnet administrator's records needs the subnet administrator.";
  if (request.method != mad::method::get && request.method != mad::method::get_table) {
    const std::string_view name = mad::rpc_name(mad::mgmt_class::sa, request.method);
    return fmt::format("{} requests what a subnet administrator computes for the request: no table has it.",
                       name.empty() ? "This method" : name);
  }
  const QueryInfo* table = table_of(request);
  if (table == nullptr) return fmt::format("Records with attribute ID {:#06x} are in no table.", request.attribute_id);
  const Stored& rows = stored(*table);
  if (!rows.answer) return fmt::format("No {} was read.", table_name(*table));
  if (!*rows.answer) return {};
  if (table->info == &PathRecord::info()) {
    if (auto why = not_in_paths(request, rows.table.records, end_port_, has_qos())) return why;
  }
  return not_in_rows(request, *table);
}

std::optional<std::string> StoredAnswers::not_in_rows(const mad::Request& request, const QueryInfo& table) {
  const StructInfo& record = *table.info;
  const std::uint64_t mask = request.component_mask;
  const TableRows& rows = stored(table).table;
  if (&record == &PortInfoRecord::info() && (mask & port_options) != 0) {
    if ((wire::unpack_short<PortInfoRecord>(request.payload).options & full_port_info) != 0)
      return "PortInfoRecords were read without the option for full PortInfo.";
  }
  if ((mask & key_component(record)) != 0) {
    const auto has_key = [&record](Bytes row) { return has_secrets(row, record); };
    if (std::ranges::none_of(rows.records, has_key)) return fmt::format("The keys of {}s were not read.", table_name(table));
  }
  if (&record == &MCMemberRecord::info() && table.trust == Trust::none && (mask & member_join_state) != 0)
    return "The join states of multicast groups were not read: only those of their members, which takes an SM_Key.";
  if (!rows.torn || request.method != mad::method::get) return {};
  if (selected(request, table).empty()) return fmt::format("The table of {}s did not arrive whole.", table_name(table));
  return {};
}

mad::Result<mad::Reply> StoredAnswers::answer(const mad::Request& request) {
  const QueryInfo& table = *table_of(request);
  const Stored& rows = stored(table);
  const StructInfo& record = *table.info;
  if (!*rows.answer) {
    const std::shared_ptr<const mad::MadError> error = rows.answer->shared_error();
    if (error->reply().empty()) return error;
    return error_reply(request, error->status());
  }
  if (&record == &mad::ClassPortInfo::info()) {
    if (request.method != mad::method::get) return error_reply(request, invalid_request);
    return table_reply(request, whole_words(mad::ClassPortInfo::wire_size), std::array{(*rows.answer)->payload()});
  }
  return table_reply(request, rows.step, selected(request, table), rows.table.torn);
}

std::vector<Bytes> StoredAnswers::selected(const mad::Request& request, const QueryInfo& table) {
  const StructInfo& record = *table.info;
  const Stored& kept = stored(table);
  if (&record == &PathRecord::info()) return matching_paths(request, kept.table.records);
  const TableMatch match(record, request.payload, request.component_mask, request.attribute_modifier >> 31 != 0);
  std::vector<Bytes> found;
  if (begins_with_lid(record) && (request.component_mask & mask_bit(0)) != 0) {
    const std::uint16_t lid = first_lid(request.payload).value;
    for (const auto& [_, row] : std::ranges::equal_range(kept.by_lid, lid, {}, &std::pair<std::uint16_t, std::uint32_t>::first)) {
      if (match(kept.table.records[row])) found.push_back(kept.table.records[row]);
    }
  } else {
    std::ranges::copy_if(kept.table.records, std::back_inserter(found), match);
  }
  return found;
}

}  // namespace ib::sa
