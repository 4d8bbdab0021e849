// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The words come from the registry of structures; only the names that errors and traces use stand here.
#include "mad/describe.hpp"

#include <fmt/format.h>

#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "mad/packet.hpp"

namespace ib::mad {

namespace {

/// As python-rdma names them in its traces, in which most responses have no name; mad_description() has all names.
std::string_view method_name(std::uint8_t number) {
  switch (number) {
    case method::get:
      return "GET";
    case method::set:
      return "SET";
    case method::send:
      return "SEND";
    case method::trap:
      return "TRAP";
    case method::trap_repress:
      return "TRAP_REPRESS";
    case method::get_table:
      return "GET_TABLE";
    case method::get_trace_table:
      return "GET_TRACE_TABLE";
    case method::get_multi:
      return "GET_MULTI";
    case method::delete_:
      return "DELETE";
    case method::response:
      return "RESPONSE";
    case method::get_resp:
      return "GET_RESP";
    default:
      return "??";
  }
}

std::string_view sa_status_name(unsigned code) {
  switch (code) {
    case 1:
      return "NO_RESOURCE";
    case 2:
      return "REQ_INVALID";
    case 3:
      return "NO_RECORDS";
    case 4:
      return "TOO_MANY_RECORDS";
    case 5:
      return "INVALID_GID";
    case 6:
      return "INSUFFICIENT_COMPONENTS";
    case 7:
      return "DENIED";
    case 8:
      return "PRIORITY_SUGGESTED";
    default:
      return "??";
  }
}

const StructInfo* format_of(Bytes mad) {
  const HeaderView header(mad);
  return find_format(header.mgmt_class(), header.class_version(), header.base_version(), oui_of(mad));
}

}  // namespace

std::string describe(Bytes mad) {
  if (mad.size() < header_size) return "a truncated MAD";
  const HeaderView header(mad);
  const StructInfo* attribute = find_attribute(header.mgmt_class(), header.class_version(), header.attribute_id(), oui_of(mad));
  return fmt::format("MAD_METHOD_{}({}) {}({}.{}) {}({})", method_name(header.method()), header.method(), format_name(mad),
                     header.mgmt_class(), header.class_version(), attribute != nullptr ? attribute->iba_name : "??", header.attribute_id());
}

std::string_view format_name(Bytes mad) {
  if (mad.size() < header_size) return "??";
  const StructInfo* format = format_of(mad);
  return format != nullptr ? format->iba_name : "??";
}

std::string dump_packet(Bytes mad) {
  if (mad.size() < header_size) return {};
  const StructInfo* format = format_of(mad);
  return dump_words(mad, format != nullptr ? *format : Header::info());
}

std::string sa_status_text(unsigned code) { return fmt::format("MAD_STATUS_SA_{}({})", sa_status_name(code), code); }

}  // namespace ib::mad
