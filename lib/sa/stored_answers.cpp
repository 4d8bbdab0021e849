// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records that are named by a LID are found by an index. For the other components, TableMatch looks at each record.
#include "sa/stored_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/wire.hpp"
#include "sa/pattern.hpp"
#include "sa/rates.hpp"
#include "sa/records.hpp"
#include "sa/table_match.hpp"

namespace ib::sa {
namespace {

constexpr std::uint16_t invalid_request = 0x0200;  // the 16 bits of the status; IBA 15.2.4

bool is_trusted(const mad::Request& request) { return request.path.ib().sm_key != 0; }

/// The first component of most records: a LID that names a port.
bool begins_with_lid(const StructInfo& record) {
  return record.fields.front().kind == FieldKind::lid && record.fields.front().mask_bit == 0;
}
Lid first_lid(Bytes row) { return Lid{static_cast<std::uint16_t>(wire::get_bits(row, 0, 16))}; }

std::vector<std::uint8_t> record_of(const mad::Request& request, const StructInfo& record) {
  std::vector<std::uint8_t> wanted(record.bytes);
  std::copy_n(request.payload.begin(), std::min(request.payload.size(), wanted.size()), wanted.begin());
  return wanted;
}

/// The mask bits of port numbers in records that exist for each port of a switch, but only once for an end node.
std::uint64_t port_components(const StructInfo& record) {
  if (&record == &SLToVLMappingTableRecord::info()) return mask_bit(1) | mask_bit(2);
  if (&record == &VLArbitrationTableRecord::info()) return mask_bit(1);
  if (&record == &PKeyTableRecord::info()) return mask_bit(2);
  return 0;
}

/// The mask bit of the key in a record.
std::uint64_t key_component(const StructInfo& record) {
  if (&record == &PortInfoRecord::info()) return mask_bit(3);
  if (&record == &ServiceRecord::info()) return mask_bit(5);
  return 0;
}

constexpr std::uint64_t link_from_lid = mask_bit(0), link_to_lid = mask_bit(3), port_options = mask_bit(2), port_base_lid = mask_bit(5),
                        member_port_gid = mask_bit(1), member_join_state = mask_bit(16), guid_block = mask_bit(1),
                        p_key_block = mask_bit(1);
constexpr std::uint8_t full_port_info = 0x80;  // of the options of a PortInfoRecord

/// A query, with LIDs as the records have them.
struct Query {
  std::vector<std::uint8_t> wanted;
  std::uint64_t mask;
  bool selects_none = false;
  std::optional<Guid> member = {};  ///< of a multicast group
};

void set_lid(std::vector<std::uint8_t>& record, std::size_t at, Lid lid) { store_be(&record[at], lid.value); }

/// As opensm: a LID is rounded down by the LMC of the subnet, also the LID of a switch, whose LMC is 0; see sa/links.hpp.
void prepare_links(Query& query, const StoredPorts& ports, unsigned lmc) {
  constexpr std::size_t to_lid_at = 4;
  const auto link = LinkRecord::unpack(query.wanted);
  const auto rounded = [lmc](Lid lid) { return Lid{static_cast<std::uint16_t>(lid.value >> lmc << lmc)}; };
  for (const auto& [component, lid, at] :
       {std::tuple(link_from_lid, link.from_lid, std::size_t{0}), {link_to_lid, link.to_lid, to_lid_at}}) {
    if ((query.mask & component) == 0) continue;
    query.selects_none = query.selects_none || !ports.is_known(lid) || ports.base_of(lid) != rounded(lid);
    set_lid(query.wanted, at, rounded(lid));
  }
}

/// As opensm: of the GUIDs, only the first of block 0 selects, and only the requesting port. Other GUIDs must be zero.
void prepare_guids(Query& query, const sys::EndPort& end_port) {
  constexpr std::uint8_t all_blocks = 255;
  constexpr unsigned first_guid_bit = 4;
  const auto record = GuidInfoRecord::unpack(query.wanted);
  if (record.lid == Lid{}) query.mask &= ~mask_bit(0);
  if (record.block_num == all_blocks) query.mask &= ~guid_block;
  const auto& guids = record.guid_info.guid_block;
  for (unsigned i = 0; i < guids.size(); ++i) {
    if ((query.mask & mask_bit(first_guid_bit + i)) == 0) continue;
    const bool names_port = i == 0 && record.block_num == 0;
    if (guids[i] != (names_port ? end_port.port_guid() : Guid{})) query.selects_none = true;
    if (!names_port) continue;
    if ((query.mask & mask_bit(0)) != 0 && record.lid != end_port.lid) query.selects_none = true;
    query.mask |= mask_bit(0);
    set_lid(query.wanted, 0, end_port.lid);
  }
}

Query prepare(const mad::Request& request, const StructInfo& record, const StoredPorts& ports, const sys::EndPort& end_port) {
  Query query{record_of(request, record), request.component_mask};
  const auto is = [&record](const StructInfo& info) { return &record == &info; };
  if (is(LinkRecord::info())) {
    prepare_links(query, ports, end_port.lmc);
  } else if (is(MCMemberRecord::info())) {
    if ((query.mask & member_port_gid) != 0) query.member = MCMemberRecord::unpack(query.wanted).port_gid.guid();
    query.mask &= ~member_port_gid;
  } else if (begins_with_lid(record)) {
    // As opensm: a query for PortInfo by its BaseLID looks the port up by the record's LID.
    if (is(PortInfoRecord::info()) && (query.mask & port_base_lid) != 0) query.mask |= mask_bit(0);
    if ((query.mask & mask_bit(0)) != 0) {
      const Lid lid = first_lid(query.wanted);
      query.selects_none = lid == Lid{} && !is(NodeRecord::info()) && !is(GuidInfoRecord::info());
      set_lid(query.wanted, 0, ports.base_of(lid));
    }
    if (is(GuidInfoRecord::info())) prepare_guids(query, end_port);
  }
  return query;
}

/// Sets fields to zero that an SA gives only in answers to trusted requests (IBA 15.4.1).
void hide_from_untrusted(const StructInfo& record, const std::vector<SecretPlace>& keys, MutableBytes row) {
  const auto zero = [row](std::size_t at, std::size_t size) {
    const std::size_t begin = std::min(at, row.size());
    std::ranges::fill(row.subspan(begin, std::min(size, row.size() - begin)), std::uint8_t{0});
  };
  for (const SecretPlace& key : keys) zero(key.offset, key.size);
  const auto clear = [&](std::string_view member) { write_number(row, *find_path(record, member), 0); };
  if (&record == &InformInfoRecord::info()) clear("inform_info.qpn");
  if (&record != &MCMemberRecord::info()) return;
  constexpr std::size_t port_gid_at = 16, gid_size = 16;
  zero(port_gid_at, gid_size);
  clear("join_state");
  clear("proxy_join");
}

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

/// As opensm: whether the rate and the MTU of a query for multicast groups exist.
bool is_valid(const MCMemberRecord& wanted, std::uint64_t mask) {
  constexpr std::uint64_t mtu = mask_bit(4) | mask_bit(5), rate = mask_bit(8) | mask_bit(9);
  const bool mtu_is_valid = wanted.mtu >= smp::Mtu::mtu_256 && wanted.mtu <= smp::Mtu::mtu_4096;
  return ((mask & mtu) != mtu || mtu_is_valid) && ((mask & rate) != rate || order_of(wanted.rate) != 0);
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

StoredAnswers::Stored& StoredAnswers::stored(const TableInfo& table) {
  std::unique_ptr<Stored>& slot = tables_[&table];
  if (slot) return *slot;
  auto loaded = std::make_unique<Stored>();
  loaded->answer = load_(table);
  const StructInfo& record = table.record();
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

RecordRows StoredAnswers::rows_of(std::string_view table) { return stored(*find_stored_table(table)).table.records; }

const StoredPorts& StoredAnswers::ports() {
  if (!ports_) ports_.emplace(rows_of("NodeRecord"), rows_of("PortInfoRecord"));
  return *ports_;
}

const StoredPaths& StoredAnswers::paths() {
  if (!paths_) paths_.emplace(rows_of("PathRecord"), rows_of("PathRecord back"), end_port_);
  return *paths_;
}

std::optional<bool> StoredAnswers::has_qos() {
  const Stored& info = stored(*find_stored_table("ClassPortInfo"));
  if (!info.answer || !*info.answer) return {};
  const auto port = wire::unpack_short<mad::ClassPortInfo>((*info.answer)->payload());
  return (static_cast<std::uint32_t>(port.capability_mask2) & capability_mask2::is_qos_supported) != 0;
}

const TableInfo* StoredAnswers::table_of(const mad::Request& request) {
  const bool asks_for_member = request.attribute_id == MCMemberRecord::attribute_id && (request.component_mask & member_port_gid) != 0;
  return asks_for_member ? find_stored_table("MCMemberRecord") : stored_table_for(request);
}

bool StoredAnswers::is_unread(const mad::Request& request) {
  const TableInfo* table = table_of(request);
  return table != nullptr && !stored(*table).answer;
}

std::optional<std::string> StoredAnswers::not_in_table(const mad::Request& request) {
  if (request.method == mad::method::set || request.method == mad::method::delete_)
    return "A change of the subnet administrator's records needs the subnet administrator.";
  if (request.method != mad::method::get && request.method != mad::method::get_table)
    return fmt::format("{} asks for what a subnet administrator computes for the request: no table has it.", method_name(request.method));
  const TableInfo* table = table_of(request);
  if (table == nullptr) return fmt::format("Records with attribute ID {:#06x} are in no table.", request.attribute_id);
  const Stored& rows = stored(*table);
  if (!rows.answer) return fmt::format("No {} was read.", table->name);
  if (!*rows.answer) return {};
  if (&table->record() == &PathRecord::info())
    return paths().not_stored({PathRecord::unpack(record_of(request, PathRecord::info())), request.component_mask, false}, has_qos());
  return not_in_rows(request, *table);
}

std::optional<std::string> StoredAnswers::not_in_rows(const mad::Request& request, const TableInfo& table) {
  const StructInfo& record = table.record();
  const std::uint64_t mask = request.component_mask;
  const Stored& kept = stored(table);
  const TableRows& rows = kept.table;
  if (&record == &PortInfoRecord::info() && (mask & port_options) != 0) {
    if ((PortInfoRecord::unpack(record_of(request, record)).options & full_port_info) != 0)
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
  const TableInfo& table = *table_of(request);
  const Stored& rows = stored(table);
  const StructInfo& record = table.record();
  // As opensm, which gives no P_Keys in answers to requests without the SM_Key.
  if (&record == &PKeyTableRecord::info() && !is_trusted(request)) return error_reply(request, invalid_request);
  if (!*rows.answer) {
    const std::shared_ptr<const mad::MadError> error = rows.answer->shared_error();
    if (error->reply().empty()) return error;
    return error_reply(request, error->status());
  }
  if (&record == &mad::ClassPortInfo::info()) return answer_once(request, rows);
  if (&record == &PathRecord::info()) return answer_paths(request);
  if (&record == &MCMemberRecord::info() && !is_valid(MCMemberRecord::unpack(record_of(request, record)), request.component_mask))
    return error_reply(request, invalid_request);
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

mad::Result<mad::Reply> StoredAnswers::answer_paths(const mad::Request& request) {
  const PathQuery query{PathRecord::unpack(record_of(request, PathRecord::info())), request.component_mask,
                        request.method == mad::method::get};
  const StoredPaths::Answer found = paths().answer(query);
  if (found.status != 0) return error_reply(request, found.status);
  const Stored& rows = stored(*find_stored_table("PathRecord"));
  TableReply reply(request, rows.step);
  for (const PathRecord& path : found.paths) reply.add(wire::packed(path));
  return reply.finish(rows.table.torn);
}

void StoredAnswers::select(const mad::Request& request, const TableInfo& table, TableReply& reply) {
  const StructInfo& record = table.record();
  const StoredPorts& known = ports();
  const Query query = prepare(request, record, known, end_port_);
  if (query.selects_none) return;
  if (&record == &PKeyTableRecord::info() && (query.mask & p_key_block) != 0) return add_p_keys(reply, query.wanted, query.mask);
  PortInfoMatch port_match;
  port_match.all_of_these_bits = request.attribute_modifier >> 31 != 0;
  port_match.has_extended_speeds = [&known](Bytes row) { return known.has_extended_speeds(first_lid(row)); };
  const TableMatch match(record, query.wanted, query.mask, port_match);
  // As opensm: the record of an end node is that of its port, whatever port number is requested.
  const std::uint64_t port_bits = port_components(record);
  const TableMatch match_end_node(record, query.wanted, query.mask & ~port_bits);
  std::vector<Bytes> found;
  const bool by_lid = begins_with_lid(record) && (query.mask & mask_bit(0)) != 0;
  stored(table).for_each(by_lid ? std::optional(first_lid(query.wanted)) : std::nullopt, [&](Bytes row) {
    const bool end_node = port_bits != 0 && !known.is_switch(first_lid(row));
    if (!(end_node ? match_end_node : match)(row)) return;
    if (query.member && wire::unpack_short<MCMemberRecord>(row).port_gid.guid() != *query.member) return;
    found.push_back(row);
  });
  // As opensm: links to a node are in the order of the node's ports.
  if (&record == &LinkRecord::info() && (query.mask & (link_from_lid | link_to_lid)) == link_to_lid)
    std::ranges::stable_sort(found, {}, [](Bytes row) { return wire::unpack_short<LinkRecord>(row).to_port; });
  const std::vector<SecretPlace> keys = secret_places(record);
  for (const Bytes row : found) {
    const MutableBytes added = reply.add(row);
    if (&record == &PortInfoRecord::info() && (query.mask & port_options) != 0)
      write_number(added, *find_path(record, "options"), PortInfoRecord::unpack(query.wanted).options);
    if (!is_trusted(request)) hide_from_untrusted(record, keys, added);
  }
}

/// As opensm: a port has a record of each requested block, with zeros where it has no P_Keys. opensm 3.3 writes block numbers in the byte
/// order of its host, so block 1 becomes 256. A table with a block from 1 to 255 is from another SA.
void StoredAnswers::add_p_keys(TableReply& reply, Bytes wanted, std::uint64_t mask) {
  const auto query = PKeyTableRecord::unpack(wanted);
  const Stored& table = stored(*find_stored_table("PKeyTableRecord"));
  const bool in_order = std::ranges::any_of(table.table.records, [](Bytes row) {
    const std::uint16_t block = wire::unpack_short<PKeyTableRecord>(row).block_num;
    return block != 0 && block < 256;
  });
  const auto swapped = static_cast<std::uint16_t>(query.block_num << 8 | query.block_num >> 8);
  const std::uint16_t block_num = in_order ? query.block_num : swapped;
  const std::optional<Lid> lid = (mask & mask_bit(0)) != 0 ? std::optional(query.lid) : std::nullopt;
  std::vector<PKeyTableRecord> found = p_key_ports(lid);
  std::map<std::pair<Lid, std::uint8_t>, std::size_t> places;
  for (std::size_t at = 0; at < found.size(); ++at) {
    found[at].block_num = block_num;
    places.emplace(std::pair(found[at].lid, found[at].port_num), at);
  }
  table.for_each(lid, [&](Bytes row) {
    const auto record = wire::unpack_short<PKeyTableRecord>(row);
    const auto place = places.find({record.lid, record.port_num});
    if (record.block_num == block_num && place != places.end()) found[place->second] = record;
  });
  const bool by_port = (mask & port_components(PKeyTableRecord::info())) != 0;
  for (const PKeyTableRecord& record : found) {
    if (by_port && ports().is_switch(record.lid) && record.port_num != query.port_num) continue;
    reply.add(wire::packed(record));
  }
}

/// The ports with P_Key tables, in the order of the table, as records without P_Keys. A switch has all its ports, because opensm does
/// not read the tables of unused ports.
std::vector<PKeyTableRecord> StoredAnswers::p_key_ports(std::optional<Lid> lid) {
  std::vector<PKeyTableRecord> found;
  std::set<std::pair<Lid, std::uint8_t>> known;
  const auto add = [&](Lid of, std::uint8_t port) {
    if (!known.emplace(of, port).second) return;
    PKeyTableRecord record;
    record.lid = of;
    record.port_num = port;
    found.push_back(record);
  };
  std::set<Lid> switches;
  const Stored& all_ports = stored(*find_stored_table("PortInfoRecord"));
  stored(*find_stored_table("PKeyTableRecord")).for_each(lid, [&](Bytes row) {
    const auto record = wire::unpack_short<PKeyTableRecord>(row);
    if (!ports().is_switch(record.lid) || all_ports.by_lid.empty()) return add(record.lid, record.port_num);
    if (!switches.insert(record.lid).second) return;
    all_ports.for_each(record.lid, [&](Bytes port) { add(record.lid, wire::unpack_short<PortInfoRecord>(port).port_num); });
  });
  return found;
}

}  // namespace ib::sa
