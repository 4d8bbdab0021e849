// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records that are named by a LID are found by an index. For the other components, TableMatch looks at each record.
#include "sa/stored_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/secrets.hpp"
#include "iba/wire.hpp"
#include "sa/pattern.hpp"
#include "sa/records.hpp"
#include "sa/stored_paths.hpp"
#include "sa/table_match.hpp"

namespace ib::sa {
namespace {

constexpr std::uint16_t invalid_request = 0x0200;  // the 16 bits of the status; IBA 15.2.4

/// The first component of most records: a LID that names a port.
bool begins_with_lid(const StructInfo& record) {
  return record.fields.front().kind == FieldKind::lid && record.fields.front().mask_bit == 0;
}
Lid first_lid(Bytes row) { return Lid{static_cast<std::uint16_t>(wire::get_bits(row, 0, 16))}; }

/// The mask bit of the key in a record.
std::uint64_t key_component(const StructInfo& record) {
  if (&record == &PortInfoRecord::info()) return mask_bit(3);
  if (&record == &ServiceRecord::info()) return mask_bit(5);
  return 0;
}

constexpr std::uint64_t port_options = mask_bit(2), member_port_gid = mask_bit(1), member_join_state = mask_bit(16);
constexpr std::uint8_t full_port_info = 0x80;  // of the options of a PortInfoRecord

std::size_t whole_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

std::string_view method_name(std::uint8_t method) {
  switch (method) {
    case mad::method::set:
      return "SubnAdmSet";
    case mad::method::get_multi:
      return "SubnAdmGetMulti";
    case mad::method::get_trace_table:
      return "SubnAdmGetTraceTable";
    default:
      return "This method";
  }
}

}  // namespace

/// A table as it is loaded.
struct StoredAnswers::Stored {
  std::optional<mad::Result<mad::Reply>> answer;
  TableRows table;
  std::size_t step{};                                           ///< bytes of a record in an answer
  std::vector<std::pair<std::uint16_t, std::uint32_t>> by_lid;  ///< first LID and row, sorted

  /// Calls `use` with each row, or with those of a LID, in the order of the table.
  template <class Use>
  void for_each(std::optional<Lid> lid, const Use& use) const {
    if (!lid) {
      for (const Bytes row : table.records) use(row);
      return;
    }
    const auto rows = std::ranges::equal_range(by_lid, lid->value, {}, &std::pair<std::uint16_t, std::uint32_t>::first);
    for (const auto& [_, row] : rows) use(table.records[row]);
  }
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
    throw Error(fmt::format("The stored {} ends within its header", table.name));
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
  if (request.method == mad::method::set || request.method == mad::method::delete_)
    return "A change of the subnet administrator's records needs the subnet administrator.";
  if (request.method != mad::method::get && request.method != mad::method::get_table)
    return fmt::format("{} requests what a subnet administrator computes for the request: no table has it.", method_name(request.method));
  const QueryInfo* table = table_of(request);
  if (table == nullptr) return fmt::format("Records with attribute ID {:#06x} are in no table.", request.attribute_id);
  const Stored& rows = stored(*table);
  if (!rows.answer) return fmt::format("No {} was read.", table->name);
  if (!*rows.answer) return {};
  if (table->info == &PathRecord::info()) {
    if (auto why = not_in_paths(request, rows.table.records, end_port_, has_qos())) return why;
  }
  return not_in_rows(request, *table);
}

std::optional<std::string> StoredAnswers::not_in_rows(const mad::Request& request, const QueryInfo& table) {
  const StructInfo& record = *table.info;
  const std::uint64_t mask = request.component_mask;
  const Stored& kept = stored(table);
  const TableRows& rows = kept.table;
  if (&record == &PortInfoRecord::info() && (mask & port_options) != 0) {
    if ((wire::unpack_short<PortInfoRecord>(request.payload).options & full_port_info) != 0)
      return "PortInfoRecords were read without the option for full PortInfo.";
  }
  if ((mask & key_component(record)) != 0) {
    const auto has_key = [&record](Bytes row) { return has_secrets(row, record); };
    if (std::ranges::none_of(rows.records, has_key)) return fmt::format("The keys of {}s were not read.", table.name);
  }
  if (&record == &MCMemberRecord::info() && table.trust == Trust::none && (mask & member_join_state) != 0)
    return "The join states of multicast groups were not read: only those of their members, which takes an SM_Key.";
  if (!rows.torn || request.method != mad::method::get) return {};
  TableReply found(request, kept.step);
  select(request, table, found);
  if (found.size() == 0) return fmt::format("The table of {}s did not arrive whole.", table.name);
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
  if (&record == &mad::ClassPortInfo::info()) return answer_once(request, rows);
  TableReply reply(request, rows.step);
  select(request, table, reply);
  return reply.finish(rows.table.torn);
}

mad::Result<mad::Reply> StoredAnswers::answer_once(const mad::Request& request, const Stored& stored) const {
  if (request.method != mad::method::get) return error_reply(request, invalid_request);
  TableReply reply(request, whole_words(mad::ClassPortInfo::wire_size));
  reply.add((*stored.answer)->payload());
  return reply.finish(false);
}

void StoredAnswers::select(const mad::Request& request, const QueryInfo& table, TableReply& reply) {
  const StructInfo& record = *table.info;
  const Stored& kept = stored(table);
  if (&record == &PathRecord::info()) {
    for (const Bytes path : matching_paths(request, kept.table.records)) reply.add(path);
    return;
  }
  const TableMatch match(record, request.payload, request.component_mask, request.attribute_modifier >> 31 != 0);
  const bool by_lid = begins_with_lid(record) && (request.component_mask & mask_bit(0)) != 0;
  kept.for_each(by_lid ? std::optional(first_lid(request.payload)) : std::nullopt, [&](Bytes row) {
    if (match(row)) reply.add(row);
  });
}

}  // namespace ib::sa
