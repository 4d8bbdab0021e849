// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers of a subnet administrator, for tests that play one: records in one segment, honest by default.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest {

inline constexpr std::size_t sa_data_offset = 56;

/// The bytes of a typed record, padded to whole words of 8 bytes as in tables.
template <class Record>
std::vector<std::uint8_t> padded(const Record& record) {
  std::vector<std::uint8_t> bytes((Record::wire_size + 7) / 8 * 8);
  record.pack(ib::MutableBytes(bytes).first(Record::wire_size));
  return bytes;
}

/// A table of `records`, all of one size, that fits one MAD.
inline FakeFabric::Answer sa_table(ib::Bytes request, const std::vector<std::vector<std::uint8_t>>& records) {
  FakeFabric::Answer mad(request.begin(), request.begin() + 256);
  mad[3] |= ib::mad::method::response;
  std::fill(mad.begin() + sa_data_offset, mad.end(), std::uint8_t{0});
  auto at = mad.begin() + sa_data_offset;
  std::size_t size = 0;
  for (const auto& record : records) {
    at = std::copy(record.begin(), record.end(), at);
    size = record.size();
  }
  mad[24] = 1;  // RMPP version
  mad[25] = 1;  // DATA
  mad[26] = 7;  // active, first, last
  ib::store_be<std::uint32_t>(&mad[28], 1);
  ib::store_be<std::uint32_t>(&mad[32], static_cast<std::uint32_t>(20 + records.size() * size));
  ib::store_be<std::uint16_t>(&mad[44], static_cast<std::uint16_t>(size / 8));
  return mad;
}

/// The answer to a Get.
inline FakeFabric::Answer sa_record(ib::Bytes request, const std::vector<std::uint8_t>& record) {
  FakeFabric::Answer mad(request.begin(), request.begin() + 256);
  mad[3] = 0x81;
  std::copy(record.begin(), record.end(), mad.begin() + sa_data_offset);
  return mad;
}

}  // namespace ibtest
