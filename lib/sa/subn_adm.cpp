// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the records of an answer.
#include "sa/subn_adm.hpp"

#include <fmt/format.h>

#include "mad/rmpp/rmpp.hpp"

namespace ib::sa {

namespace {

using mad::packet_size;

/// The end of the records in an Active answer. Sets `torn` if there were more records.
std::size_t end_of_records(Bytes mad, bool& torn) {
  const mad::RmppView segment(mad);
  const mad::DataArea area = mad::data_area(mad::mgmt_class::sa);
  if (segment.type() != rmpp::Type::data) {
    const auto place = static_cast<std::uint8_t>(segment.flags() & (rmpp::flags::first | rmpp::flags::last));
    torn = place == rmpp::flags::first;
    if (!torn && mad.size() == packet_size) throw Error("The answer is not cut into segments: where its records end is not known");
    return mad.size();
  }
  if (mad.size() != packet_size) return mad.size();
  // A reassembled answer keeps the header of one segment. An answer of this length is a single segment, or the beginning of a table.
  torn = (segment.flags() & rmpp::flags::last) == 0;
  if (torn) return mad.size();
  // PayloadLength also counts the 20 bytes of the SA header (IBA 13.6.2.3).
  const std::size_t length = segment.length();
  if (length < 20 || length - 20 > area.size) throw Error("RMPP payload length is out of range");
  return area.offset + length - 20;
}

}  // namespace

TableRows table_rows(const mad::Reply& reply, std::size_t record_size) {
  const Bytes mad = reply.bytes;
  const mad::DataArea area = mad::data_area(mad::mgmt_class::sa);
  if (mad.size() < area.offset) throw Error("The answer ends within its header");
  TableRows table;
  if (!mad::RmppView::is_active(mad)) {
    // A single MAD without RMPP holds one record.
    const Bytes data = mad.subspan(area.offset);
    if (data.size() < record_size) throw Error("The answer ends within its record");
    table.records = {data, data.size(), data.size(), 1};
    return table;
  }
  const std::size_t step = std::size_t{8} * load_be<std::uint16_t>(&mad[mad::attribute_offset_offset]);
  if (step == 0) {
    // No records. More than one segment without records is a contradiction.
    table.torn = mad.size() > packet_size;
    return table;
  }
  if (step < record_size) throw Error(fmt::format("RMPP attribute is too small. Got {}, expected {}", step, record_size));
  const std::size_t end = std::max(area.offset, end_of_records(mad, table.torn));
  const Bytes data = mad.subspan(area.offset, end - area.offset);
  // The last record may lack its padding.
  table.records = {data, step, step, data.size() < record_size ? 0 : (data.size() - record_size) / step + 1};
  const Bytes rest = data.subspan(std::min(data.size(), table.records.size() * step));
  table.torn = table.torn || !is_zero(rest);
  return table;
}

mad::Request sa_request(const path::Path& path, const StructInfo& record, std::uint8_t method, Bytes payload,
                        std::uint64_t component_mask) {
  mad::Request request = mad::attribute_request(path, record, method, 0, payload, mad::mgmt_class::sa);
  request.component_mask = component_mask;
  return request;
}

}  // namespace ib::sa
