// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Most words are those of our definitions; what differs in libibumad stands here. Tests compare with the library.
#include "iba/umad_text.hpp"

#include <array>

#include "iba-gen/cm.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"

namespace ib {
namespace {

std::string_view find(const EnumInfo& info, std::uint64_t number) {
  for (const EnumValue& v : info.values) {
    if (v.number == number) return v.text;
  }
  return {};
}

bool is_sa_method(std::uint8_t method) {
  const std::uint8_t request = method & 0x7fU;
  return request >= mad::method::get_table && request <= mad::method::delete_;
}

}  // namespace

std::string_view umad_class_text(std::uint8_t mgmt_class) {
  switch (mgmt_class) {
    case mad::mgmt_class::smp:
    case mad::mgmt_class::smp_directed:
      return "Subn";
    case mad::mgmt_class::sa:
      return "SubnAdm";
    case mad::mgmt_class::performance:
      return "Perf";
    case mad::mgmt_class::board:
      return "BM";
    case mad::mgmt_class::device:
      return "DevMgt";
    case mad::mgmt_class::communication:
      return "ComMgt";
    case mad::mgmt_class::snmp:
      return "SNMP";
    case mad::mgmt_class::device_admin:
      return "DevAdm";
    case mad::mgmt_class::boot:
      return "BootMgt";
    case mad::mgmt_class::bis:
      return "BIS";
    case mad::mgmt_class::congestion:
      return "CongestionManagment";
    default:
      break;
  }
  if ((mgmt_class >= 0x09 && mgmt_class <= 0x0f) || (mgmt_class >= 0x30 && mgmt_class <= 0x4f)) return "Vendor";
  return mgmt_class >= 0x10 && mgmt_class <= 0x2f ? "Application" : "<unknown>";
}

std::string_view umad_method_text(std::uint8_t mgmt_class, std::uint8_t method) {
  const bool known = method != mad::method::response && method != mad::method::get_trace_table_resp;
  const bool right_class = mgmt_class == mad::mgmt_class::sa || !is_sa_method(method);
  const std::string_view text = known && right_class ? find(mad::method::info(), method) : std::string_view{};
  return text.empty() ? "<unknown" : text;
}

std::string_view umad_attribute_text(std::uint8_t mgmt_class, std::uint16_t attribute_id) {
  switch (attribute_id) {
    case mad::attribute_id::class_port_info:
      return "Class Port Info";
    case mad::attribute_id::notice:
      return "Notice";
    case mad::attribute_id::inform_info:
      return "Inform Info";
    default:
      break;
  }
  std::string_view text;
  switch (mgmt_class) {
    case mad::mgmt_class::smp:
    case mad::mgmt_class::smp_directed:
      if (attribute_id != smp::attribute_id::mlnx_ext_port_info) text = find(smp::attribute_id::info(), attribute_id);
      break;
    case mad::mgmt_class::sa:
      text = attribute_id == sa::attribute_id::guid_info_record ? "GuidInfoRecord" : find(sa::attribute_id::info(), attribute_id);
      break;
    case mad::mgmt_class::communication:
      text = find(cm::attribute_id::info(), attribute_id);
      break;
    default:
      break;
  }
  return text.empty() ? "<unknown>" : text;
}

std::string_view umad_status_text(std::uint16_t status) {
  if ((status & mad::status::busy) != 0) return "Busy";
  if ((status & mad::status::redirect) != 0) return "Redirection required";
  switch (status & 0x1c) {
    case mad::status::bad_version:
      return "Bad Version";
    case mad::status::unsupported_method:
      return "Method not supported";
    case mad::status::unsupported_method_attribute:
      return "Method/Attribute combo not supported";
    case mad::status::invalid_attribute_or_modifier:
      return "Invalid attribute/modifier field";
    default:
      return "Success";
  }
}

std::string_view umad_sa_status_text(std::uint16_t status) {
  constexpr std::array<std::string_view, 9> texts = {"Success",           "No Resources", "Request Invalid",         "No Records",
                                                     "Too Many Records",  "Invalid GID",  "Insufficient Components", "Request Denied",
                                                     "Priority Suggested"};
  const std::size_t code = status >> 8;
  return code < texts.size() ? texts[code] : "Undefined Error";
}

}  // namespace ib
