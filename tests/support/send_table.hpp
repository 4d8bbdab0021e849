// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include <vector>

#include "mad/server.hpp"

namespace ibtest {

/// Answers a SubnAdmGetTable, SubnAdmGetTraceTable or SubnAdmGetMulti with records of one type.
template <class T>
void send_table(ib::mad::Server& server, const ib::mad::Incoming& incoming, const std::vector<T>& records) {
  constexpr std::size_t step = (T::wire_size + 7) / 8 * 8;
  std::vector<std::uint8_t> bytes(step * records.size());
  for (std::size_t i = 0; i < records.size(); ++i) records[i].pack(ib::MutableBytes(bytes).subspan(step * i, T::wire_size));
  ib::mad::ReplyHeader header;
  header.attribute_id = T::attribute_id;
  header.attribute_offset = records.empty() ? 0 : step / 8;
  server.send_rmpp_reply(incoming, bytes, header);
}

}  // namespace ibtest
