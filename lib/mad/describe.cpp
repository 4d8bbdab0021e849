// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The words come from the registry of structures. This file holds only the names for errors and traces.
#include "mad/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/request.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

namespace {

/// The name of a method: `GET_TABLE_RESP`, or `??` if unknown. iba-defs calls it get_table_resp.
std::string method_name(std::uint8_t number) {
  const auto methods = method::info().values;
  const auto found = std::ranges::find(methods, number, &EnumValue::number);
  std::string name(found != methods.end() ? found->name.view() : "??");
  if (name.ends_with('_')) name.pop_back();  // delete_
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return name;
}

std::string rmpp_status_name(rmpp::Status status) {
  const std::string_view known = to_text(status);
  return fmt::format("{}({})", known.empty() ? "status" : known, static_cast<unsigned>(status));
}

constexpr std::array<std::string_view, 9> sa_status_names = {
    "??",     "NO_RESOURCE",       "REQ_INVALID", "NO_RECORDS", "TOO_MANY_RECORDS", "INVALID_GID", "INSUFFICIENT_COMPONENTS",
    "DENIED", "PRIORITY_SUGGESTED"};

const StructInfo* format_of(Bytes mad) {
  const HeaderView header(mad);
  return find_format(header.mgmt_class(), header.class_version(), header.base_version(), mad_oui(mad));
}

std::string described(Bytes mad, std::string_view method, const StructInfo* format) {
  const HeaderView header(mad);
  const StructInfo* attribute = find_attribute_in(mad);
  return fmt::format("MAD_METHOD_{}({}) {}({}.{}) {}({})", method, header.method(), format != nullptr ? format->iba_name : "??",
                     header.mgmt_class(), header.class_version(), attribute != nullptr ? attribute->iba_name : "??", header.attribute_id());
}

/// The number of bytes in a table of the SA that precede the data of `mad`. `mad` is a segment of the table or the whole table.
std::size_t bytes_before(Bytes mad) {
  if (!RmppView::is_active(mad) || mad[1] != mgmt_class::sa || mad.size() > packet_size) return 0;
  const std::size_t segment = RmppView(mad).segment();
  return segment > 1 ? (segment - 1) * data_area(mgmt_class::sa).size : 0;
}

/// Sets the keys in all records of a table of the SA to zero, also if the table begins within a record.
void blank_table(std::vector<std::uint8_t>& mad) {
  const std::size_t data = data_area(mgmt_class::sa).offset;
  if (!RmppView::is_active(mad) || mad[1] != mgmt_class::sa || mad.size() < data) return;
  const StructInfo* record = find_attribute_in(mad);
  const std::vector<FieldPlace> places = record != nullptr ? secret_places(*record) : std::vector<FieldPlace>();
  if (places.empty()) return;
  const std::size_t said = std::size_t{8} * load_be<std::uint16_t>(&mad[attribute_offset_offset]);
  const std::size_t step = said != 0 ? said : (record->bytes + 7) / 8 * 8;
  const std::size_t begin = bytes_before(mad), end = begin + mad.size() - data;
  for (std::size_t at = begin / step * step; at < end; at += step) {
    for (const FieldPlace& place : places) {
      for (std::size_t byte = std::max(at + place.offset, begin); byte < std::min(at + place.offset + place.size, end); ++byte)
        mad[data + byte - begin] = 0;
    }
  }
}

}  // namespace

std::string describe(Bytes mad) {
  if (mad.size() < header_size) return "a truncated MAD";
  const std::uint8_t method = HeaderView(mad).method();
  const bool has_name = method != method::report && method <= method::get_resp;
  return described(mad, has_name ? method_name(method) : "??", format_of(mad));
}

std::string full_description(Bytes mad) {
  std::vector<std::uint8_t> whole(mad.begin(), mad.end());
  whole.resize(std::max(mad.size(), packet_size));
  const HeaderView header(whole);
  return described(whole, method_name(header.method()), find_format(header.mgmt_class(), header.class_version(), 1, mad_oui(whole)));
}

std::string mad_status_text(std::uint16_t status) {
  constexpr std::array<std::string_view, 8> codes = {"Ok", "Bad version", "Unsupported method",      "Unsupported method+attr", "??",
                                                     "??", "??",          "Invalid attr or modifier"};
  std::string out;
  if ((status & status::busy) != 0) out += "BUSY ";
  if ((status & status::redirect) != 0) out += "REDIRECT ";
  out += codes[status >> 2 & 7];
  return out;
}

std::string_view format_name(Bytes mad) {
  if (mad.size() < header_size) return "??";
  const StructInfo* format = format_of(mad);
  return format != nullptr ? format->iba_name : "??";
}

std::string dump_packet(Bytes mad, Keys keys) {
  if (mad.size() < header_size) return {};
  const StructInfo* format = format_of(mad);
  std::vector<std::uint8_t> copy(mad.begin(), mad.end());
  if (keys == Keys::hidden && bytes_before(mad) != 0) blank_table(copy);
  if (keys == Keys::hidden && format == nullptr) copy = without_keys(mad);
  return dump_words(copy, format != nullptr ? *format : Header::info(), keys);
}

std::vector<std::uint8_t> without_keys(Bytes mad) {
  std::vector<std::uint8_t> copy(mad.begin(), mad.end());
  if (mad.size() < header_size) return copy;
  const HeaderView header(mad);
  const StructInfo* format = format_of(mad);
  if (format != nullptr) {
    copy = without_secrets(mad, *format);
  } else {
    // As if it were of the known versions of its class.
    const std::uint8_t version = class_version_of(header.mgmt_class());
    std::vector<std::uint8_t> known(mad.begin(), mad.end());
    known[0] = 1;
    known[2] = version;
    format = format_of(known);
    if (format != nullptr) std::ranges::copy(Bytes(without_secrets(known, *format)).subspan(header_size), copy.begin() + header_size);
  }
  blank_table(copy);
  return copy;
}

std::optional<std::vector<std::uint8_t>> without_keys(std::uint8_t mgmt_class, std::uint16_t attribute_id, std::size_t offset, Bytes part) {
  std::vector<std::uint8_t> mad(std::max(packet_size, offset + part.size()));
  mad[0] = 1;
  mad[1] = mgmt_class;
  mad[2] = class_version_of(mgmt_class);
  mad[3] = method::get_resp;
  store_be(&mad[16], attribute_id);
  std::ranges::copy(part, mad.begin() + static_cast<std::ptrdiff_t>(offset));
  const std::vector<std::uint8_t> shown = without_keys(mad);
  if (shown == mad) return std::nullopt;
  const auto begin = shown.begin() + static_cast<std::ptrdiff_t>(offset);
  return std::vector<std::uint8_t>(begin, begin + std::ssize(part));
}

std::string sa_status_text(unsigned code) {
  return fmt::format("MAD_STATUS_SA_{}({})", sa_status_names[code < sa_status_names.size() ? code : 0], code);
}

std::string describe_segment(Bytes mad) {
  if (mad.size() < rmpp_header_size) return "a truncated MAD";
  const RmppView view(mad);
  switch (view.type()) {
    case rmpp::Type::data:
      return fmt::format("DATA {}{}{} length {}", view.segment(), (view.flags() & rmpp::flags::first) != 0 ? " first" : "",
                         (view.flags() & rmpp::flags::last) != 0 ? " last" : "", view.length());
    case rmpp::Type::ack:
      return fmt::format("ACK {} window {}", view.segment(), view.new_window_last());
    case rmpp::Type::stop:
    case rmpp::Type::abort:
      return fmt::format("{} {}", to_text(view.type()), rmpp_status_name(view.status()));
    default:
      return fmt::format("type {}", static_cast<unsigned>(view.type()));
  }
}

std::string RmppFailure::text() const {
  const std::string name = rmpp_status_name(status);
  if (by_peer) return "the other side gave up: " + name;
  return reason.empty() ? name : fmt::format("{} - {}", reason, name);
}

}  // namespace ib::mad
