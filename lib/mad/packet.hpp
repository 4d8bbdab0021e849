// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A MAD as bytes: the header fields (IBA 13.4.2) and the data area of each class. The RPC engine uses only these few fields;
// everything else is read through the generated structures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "iba-gen/mad.hpp"
#include "iba/types.hpp"

namespace ib::mad {

inline constexpr std::size_t packet_size = 256;  ///< size of a MAD on the wire (IBA 13.4.1)
inline constexpr std::size_t header_size = 24;   ///< size of the header that all classes have

inline constexpr std::size_t attribute_offset_offset = 44;  ///< where a MAD of the SA holds the size of its records (IBA 15.2.1.1)

/// One MAD to send.
using Packet = std::array<std::uint8_t, packet_size>;

/// The part of a class's MADs that holds the attribute.
struct DataArea {
  std::size_t offset;
  std::size_t size;
};
DataArea data_area(std::uint8_t mgmt_class);

/// True for the two classes of subnet management, which use QP0.
constexpr bool is_smp(std::uint8_t mgmt_class) { return mgmt_class == mgmt_class::smp || mgmt_class == mgmt_class::smp_directed; }
/// Whether `method` of subnet administration returns all records that match (IBA 15.3.1).
constexpr bool is_list_method(std::uint8_t method) {
  return method == method::get_table || method == method::get_trace_table || method == method::get_multi;
}
/// The response method for `request`: GetResp for Set, and the request method with the R bit for all others (IBA 13.4.5).
constexpr std::uint8_t response_method(std::uint8_t request) {
  return request == method::set ? method::get_resp : static_cast<std::uint8_t>(request | method::response);
}

/// A view of the common header of a MAD, which must have at least header_size bytes.
class HeaderView {
 public:
  explicit HeaderView(Bytes mad) : p_(mad.data()) {}
  std::uint8_t base_version() const { return p_[0]; }
  std::uint8_t mgmt_class() const { return p_[1]; }
  std::uint8_t class_version() const { return p_[2]; }
  std::uint8_t method() const { return p_[3]; }
  bool is_response() const { return (method() & method::response) != 0; }
  /// The status, including the D bit of a directed-route SMP (IBA 14.2.1.2).
  std::uint16_t raw_status() const { return load_be<std::uint16_t>(p_ + 4); }
  /// The status without the D bit.
  std::uint16_t status() const {
    return static_cast<std::uint16_t>(mgmt_class() == mgmt_class::smp_directed ? raw_status() & 0x7fffU : raw_status());
  }
  std::uint64_t transaction_id() const { return load_be<std::uint64_t>(p_ + 8); }
  std::uint16_t attribute_id() const { return load_be<std::uint16_t>(p_ + 16); }
  std::uint32_t attribute_modifier() const { return load_be<std::uint32_t>(p_ + 20); }

 private:
  const std::uint8_t* p_;
};

}  // namespace ib::mad
