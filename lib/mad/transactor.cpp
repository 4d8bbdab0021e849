// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The untyped part of Transactor: the path to the SA and the records of its answers.
#include "mad/transactor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mad/multi_path.hpp"
#include "mad/rmpp.hpp"

namespace ib::mad {

namespace {

path::IbPath make_sa_path(const sys::EndPort& end_port) {
  path::IbPath path;
  path.end_port = &end_port;
  path.dlid = end_port.sm_lid;
  path.slid = end_port.lid;
  path.sl = static_cast<std::uint8_t>(end_port.sm_sl);
  path.dqpn = path.sqpn = Qpn{1};
  path.qkey = path::qp1_qkey;
  path.packet_life_time = static_cast<std::uint8_t>(end_port.subnet_timeout);
  return path;
}

/// Where the records of an Active answer end. Sets `cut` where there were more.
std::size_t end_of_records(Bytes mad, bool& cut) {
  const RmppView segment(mad);
  const DataArea area = data_area(mgmt_class::sa);
  if (segment.type() != rmpp::Type::data && mad.size() <= packet_size) {
    cut = mad.size() > simulator_bytes;
    return std::min(mad.size(), simulator_bytes);
  }
  // A reassembled answer keeps the header of one segment; of this length it is one segment, or the beginning of a table.
  cut = mad.size() == packet_size && (segment.flags() & rmpp::flags::last) == 0;
  if (mad.size() != packet_size || cut) return mad.size();
  // PayloadLength counts the 20 bytes of SA header too (IBA 13.6.2.3).
  const std::size_t length = segment.length();
  if (length < 20 || length - 20 > area.size) throw Error("RMPP payload length is out of range");
  return area.offset + length - 20;
}

/// The records of which at least `least` bytes came, each `step` behind the one before.
RecordRows rows_of(Bytes data, std::size_t step, std::size_t least) {
  return {data, step, step, data.size() < least ? 0 : (data.size() - least) / step + 1};
}

}  // namespace

Transactor::Transactor(const sys::EndPort& end_port) : end_port_(end_port), sa_path_(make_sa_path(end_port)) {}

Task<Reply> Transactor::call(const Request& request) {
  Result<Reply> result = co_await try_call(request);
  co_return std::move(result).take();
}

Task<Result<SaTable<sa::PathRecord>>> Transactor::try_subn_adm_get_multi(const sa::MultiPathRecord::Query& query,
                                                                         const std::vector<Gid>& sources,
                                                                         const std::vector<Gid>& destinations) {
  sa::MultiPathRecord::Query counted = query;
  counted.sgid_count(0).dgid_count(0);
  const auto record = detail::packed(counted.record);
  std::vector<std::uint8_t> bytes(record.begin(), record.end());
  for (const Gid& gid : sources) add_gid(bytes, PathEnd::source, gid);
  for (const Gid& gid : destinations) add_gid(bytes, PathEnd::destination, gid);
  const Request request = detail::sa_request<sa::MultiPathRecord>(sa_path_, method::get_multi, used_part(bytes), counted.component_mask);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked_table<sa::PathRecord>(reply);
}

Task<Result<SaTable<sa::TraceRecord>>> Transactor::try_subn_adm_get_trace_table(const sa::PathRecord::Query& query) {
  const auto bytes = detail::packed(query.record);
  const Request request = detail::sa_request<sa::TraceRecord>(sa_path_, method::get_trace_table, bytes, query.component_mask);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked_table<sa::TraceRecord>(reply);
}

SaRows sa_records(const Reply& reply, std::size_t record_size) {
  const Bytes mad = reply.bytes;
  const DataArea area = data_area(mgmt_class::sa);
  if (mad.size() < area.offset) throw Error("The answer ends within its header");
  SaRows table;
  if (!RmppView::is_active(mad)) {
    // A single MAD without RMPP holds one record.
    const Bytes data = mad.subspan(area.offset);
    if (data.size() < record_size) throw Error("The answer ends within its record");
    table.records = {data, data.size(), data.size(), 1};
    return table;
  }
  const std::size_t step = std::size_t{8} * load_be<std::uint16_t>(&mad[attribute_offset_offset]);
  if (step == 0) {
    // No records; several segments of them are a contradiction.
    table.torn = mad.size() > packet_size;
    return table;
  }
  if (step < record_size) throw Error(fmt::format("RMPP attribute is too small. Got {}, expected {}", step, record_size));
  const std::size_t end = std::max(area.offset, end_of_records(mad, table.cut));
  const Bytes data = mad.subspan(area.offset, end - area.offset);
  table.records = rows_of(data, step, record_size);
  const Bytes rest = data.subspan(std::min(data.size(), table.records.size() * step));
  table.torn = !table.cut && std::ranges::any_of(rest, [](std::uint8_t byte) { return byte != 0; });
  return table;
}

}  // namespace ib::mad
