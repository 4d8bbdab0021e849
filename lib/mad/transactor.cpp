// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The untyped part of Transactor: the path to the SA and the records of its answers.
#include "mad/transactor.hpp"

#include <fmt/format.h>

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

// IBA 15.2.1.1 and 13.6.2.1.
constexpr std::size_t rmpp_flags_offset = 26, rmpp_segment_offset = 28, attribute_offset_offset = 44;
constexpr std::uint8_t rmpp_active = 1, rmpp_last = 4;

}  // namespace

Transactor::Transactor(const sys::EndPort& end_port) : end_port_(end_port), sa_path_(make_sa_path(end_port)) {}

Task<Reply> Transactor::call(const Request& request) {
  Result<Reply> result = co_await try_call(request);
  co_return std::move(result).take();
}

std::vector<Bytes> sa_records(const Reply& reply, std::size_t record_size) {
  const Bytes mad = reply.bytes;
  const DataArea area = data_area(mgmt_class::sa);
  const std::uint8_t flags = mad[rmpp_flags_offset] & 7U;
  const std::size_t step = std::size_t{8} * load_be<std::uint16_t>(&mad[attribute_offset_offset]);
  if ((flags & rmpp_active) == 0) {
    // A single MAD without RMPP holds one record.
    return {mad.subspan(area.offset)};
  }
  // A reassembled answer keeps the header of one segment: of the first one (more may follow it) or of the last.
  if (mad.size() <= packet_size && (flags & rmpp_last) == 0) {
    throw Error("The answer is longer than one MAD and this channel does not reassemble RMPP");
  }
  if (step == 0) return {};
  if (step < record_size) throw Error(fmt::format("RMPP attribute is too small. Got {}, expected {}", step, record_size));
  std::size_t end = mad.size();
  if (mad.size() == packet_size) {
    // One segment as it was on the wire: its payload length counts the 20 bytes of SA header too (IBA 13.6.2.1).
    const std::size_t length = load_be<std::uint32_t>(&mad[rmpp_segment_offset + 4]);
    if (length < 20 || length - 20 > area.size) throw Error("RMPP payload length is out of range");
    end = area.offset + length - 20;
  }
  std::vector<Bytes> records;
  for (std::size_t at = area.offset; at + record_size <= end; at += step) records.push_back(mad.subspan(at, std::min(step, end - at)));
  return records;
}

}  // namespace ib::mad
