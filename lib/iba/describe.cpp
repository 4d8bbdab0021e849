// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/describe.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "iba-gen/mad.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib {
namespace {

std::string_view method_name(std::uint8_t method) {
  switch (method) {
    case mad::method::get:
      return "GET";
    case mad::method::set:
      return "SET";
    case mad::method::send:
      return "SEND";
    case mad::method::trap:
      return "TRAP";
    case mad::method::report:
      return "REPORT";
    case mad::method::trap_repress:
      return "TRAP_REPRESS";
    case mad::method::get_table:
      return "GET_TABLE";
    case mad::method::get_trace_table:
      return "GET_TRACE_TABLE";
    case mad::method::get_multi:
      return "GET_MULTI";
    case mad::method::delete_:
      return "DELETE";
    case mad::method::response:
      return "RESPONSE";
    case mad::method::get_resp:
      return "GET_RESP";
    case mad::method::report_resp:
      return "REPORT_RESP";
    case mad::method::get_table_resp:
      return "GET_TABLE_RESP";
    case mad::method::get_trace_table_resp:
      return "GET_TRACE_TABLE_RESP";
    case mad::method::get_multi_resp:
      return "GET_MULTI_RESP";
    case mad::method::delete_resp:
      return "DELETE_RESP";
    default:
      return "??";
  }
}

}  // namespace

std::string mad_status_text(std::uint16_t status) {
  constexpr std::array<std::string_view, 8> codes = {"Ok", "Bad version", "Unsupported method",      "Unsupported method+attr", "??",
                                                     "??", "??",          "Invalid attr or modifier"};
  std::string out;
  if ((status & mad::status::busy) != 0) out += "BUSY ";
  if ((status & mad::status::redirect) != 0) out += "REDIRECT ";
  out += codes[status >> 2 & 7];
  return out;
}

std::uint32_t mad_oui(Bytes mad) {
  const auto mgmt_class = wire::get_bits(mad, 8, 8);
  return mgmt_class >= 0x30 && mgmt_class <= 0x4f ? static_cast<std::uint32_t>(wire::get_bits(mad, 296, 24)) : 0;
}

std::string mad_description(Bytes mad) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(wire::get_bits(mad, at * 8, 8)); };
  const auto attribute_id = static_cast<std::uint16_t>(wire::get_bits(mad, 128, 16));
  const StructInfo* format = find_format(byte(1), byte(2), 1, mad_oui(mad));
  const StructInfo* attribute = find_attribute(byte(1), byte(2), attribute_id, mad_oui(mad));
  return fmt::format("MAD_METHOD_{}({}) {}({}.{}) {}({})", method_name(byte(3)), byte(3), format != nullptr ? format->iba_name : "??",
                     byte(1), byte(2), attribute != nullptr ? attribute->iba_name : "??", attribute_id);
}

}  // namespace ib
