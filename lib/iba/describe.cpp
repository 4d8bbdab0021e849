// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/describe.hpp"

#include <array>

#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib {
namespace {

struct Speed {
  std::string_view name;
  std::uint64_t kbps;
};

std::string or_unknown(std::string_view text, unsigned number) { return text.empty() ? "?? " + std::to_string(number) : std::string(text); }

/// The one speed a port runs at: the newest generation's field that is set tells.
Speed active_speed(const smp::PortInfo& port, bool fdr10) {
  if (port.link_speed_ext_active2 == smp::link_speed_ext2::xdr) return {"XDR", 212500000};
  switch (port.link_speed_ext_active) {
    case smp::link_speed_ext::fdr:
      return {"FDR", 14062500};
    case smp::link_speed_ext::edr:
      return {"EDR", 25781250};
    case smp::link_speed_ext::hdr:
      return {"HDR", 53125000};
    case smp::link_speed_ext::ndr:
      return {"NDR", 106250000};
    default:
      break;
  }
  if (fdr10) return {"FDR10", 10312500};
  switch (port.link_speed_active) {
    case smp::link_speed::sdr:
      return {"SDR", 2500000};
    case smp::link_speed::ddr:
      return {"DDR", 5000000};
    case smp::link_speed::qdr:
      return {"QDR", 10000000};
    default:
      return {"", 0};
  }
}

constexpr std::array<std::uint32_t, 25> rates = {0,      0,      2500,  10000,  30000,  5000,   20000,  40000,  60000,
                                                 80000,  120000, 14000, 56000,  112000, 168000, 25000,  100000, 200000,
                                                 300000, 28000,  50000, 400000, 600000, 800000, 1200000};

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

std::string describe(smp::NodeType value) { return or_unknown(to_text(value), static_cast<unsigned>(value)); }

std::string describe(smp::PortState value) {
  return or_unknown(value == smp::PortState::no_change ? "" : to_text(value), static_cast<unsigned>(value));
}

std::string describe(smp::PortPhysicalState value) {
  return or_unknown(value == smp::PortPhysicalState::no_change ? "" : to_text(value), static_cast<unsigned>(value));
}

std::string describe(smp::Mtu value) { return or_unknown(to_text(value), static_cast<unsigned>(value)); }

std::string link_speed_text(std::uint8_t speed) { return symbol(smp::link_speed::info(), speed); }

std::string link_speed_ext_text(std::uint8_t speed) { return symbol(smp::link_speed_ext::info(), speed); }

unsigned link_width_lanes(std::uint8_t width) {
  switch (width) {
    case smp::link_width::x1:
      return 1;
    case smp::link_width::x2:
      return 2;
    case smp::link_width::x4:
      return 4;
    case smp::link_width::x8:
      return 8;
    case smp::link_width::x12:
      return 12;
    default:
      return 0;
  }
}

std::string_view active_speed_name(const smp::PortInfo& port, bool fdr10) { return active_speed(port, fdr10).name; }

std::uint64_t lane_kbps(const smp::PortInfo& port, bool fdr10) { return active_speed(port, fdr10).kbps; }

std::uint32_t rate_mbps(sa::Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < rates.size() ? rates[code] : 0;
}

std::uint32_t mtu_bytes(smp::Mtu mtu) {
  const auto code = static_cast<unsigned>(mtu);
  return code >= 1 && code <= 5 ? 128U << code : 0;
}

std::uint64_t timeout_ns(unsigned code) { return std::uint64_t{4096} << (code & 31U); }

std::string mad_status_text(std::uint16_t status) {
  constexpr std::array<std::string_view, 8> codes = {"Ok", "Bad version", "Unsupported method",      "Unsupported method+attr", "??",
                                                     "??", "??",          "Invalid attr or modifier"};
  std::string out;
  if ((status & mad::status::busy) != 0) out += "BUSY ";
  if ((status & mad::status::redirect) != 0) out += "REDIRECT ";
  out += codes[status >> 2 & 7];
  return out;
}

std::string_view sa_status_text(std::uint16_t status) {
  const std::uint64_t code = status >> 8 & 0x7f;
  if (code == 0) return {};
  for (const EnumValue& v : sa::status::info().values) {
    if (v.number == code) return v.text;
  }
  return "??";
}

std::string method_text(std::uint8_t method) {
  return "MAD_METHOD_" + std::string(method_name(method)) + '(' + std::to_string(method) + ')';
}

std::uint32_t mad_oui(Bytes mad) {
  const auto mgmt_class = wire::get_bits(mad, 8, 8);
  return mgmt_class >= 0x30 && mgmt_class <= 0x4f ? static_cast<std::uint32_t>(wire::get_bits(mad, 296, 24)) : 0;
}

std::string mad_description(std::uint8_t method, std::uint8_t mgmt_class, std::uint8_t class_version, std::uint16_t attribute_id,
                            std::uint32_t oui) {
  const StructInfo* format = find_format(mgmt_class, class_version, 1, oui);
  const StructInfo* attribute = find_attribute(mgmt_class, class_version, attribute_id, oui);
  std::string out = method_text(method) + ' ';
  out += format != nullptr ? format->iba_name : "??";
  out += '(' + std::to_string(mgmt_class) + '.' + std::to_string(class_version) + ") ";
  out += attribute != nullptr ? attribute->iba_name : "??";
  return out + '(' + std::to_string(attribute_id) + ')';
}

std::string mad_description(Bytes mad) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(wire::get_bits(mad, at * 8, 8)); };
  return mad_description(byte(3), byte(1), byte(2), static_cast<std::uint16_t>(wire::get_bits(mad, 128, 16)), mad_oui(mad));
}

}  // namespace ib
