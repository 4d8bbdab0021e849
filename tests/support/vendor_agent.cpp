// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/vendor_agent.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "mad/packet.hpp"

namespace ibtest {
namespace {

namespace mlx = ib::mlx;
using ib::Bytes;

constexpr std::size_t vendor_data = 24, smp_data = 64;
constexpr std::size_t block_number_at = 8, data_at = 12, local_port_at = 13;  // of AccessRegister, from the VS_Key on
constexpr std::uint16_t register_not_supported = 0x14;
constexpr std::size_t short_reply = 64;  // bytes of a MAD that is cut

ib::FieldRef place_of(const ib::StructInfo& layout, std::string_view field) {
  const auto place = ib::find_path(layout, field);
  if (!place) throw std::invalid_argument(std::string(layout.iba_name) + " has no field " + std::string(field));
  return *place;
}

VendorAgent::Mad reply_to(Bytes request, std::uint16_t status = 0) {
  constexpr unsigned direction = 0x8000;  // of a directed route
  VendorAgent::Mad reply(request.begin(), request.end());
  reply[3] = ib::mad::response_method(request[3]);
  const bool is_directed = request[1] == ib::mad::mgmt_class::smp_directed;
  ib::store_be(&reply[4], static_cast<std::uint16_t>(status | (is_directed ? direction : 0U)));
  return reply;
}

}  // namespace

unsigned index_in(Bytes attribute, const ib::StructInfo& layout) {
  for (const std::string_view name : {"local_port", "sensor_index", "tacho"}) {
    if (const ib::FieldInfo* field = ib::find_field(layout, name)) return static_cast<unsigned>(ib::read_number(attribute, *field));
  }
  return 0;
}

std::vector<std::uint8_t>& VendorAgent::bytes_of(const ib::StructInfo& layout, unsigned index) {
  auto& bytes = values_[{&layout, index}];
  bytes.resize(layout.bytes);
  return bytes;
}

void VendorAgent::set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::string_view text) {
  const ib::FieldRef place = place_of(layout, field);
  auto& bytes = bytes_of(layout, index);
  const std::size_t at = place.bit_offset / 8, size = place.field->bits / 8;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, std::uint8_t{0});
  std::ranges::copy(text.substr(0, size), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void VendorAgent::set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::uint64_t number) {
  const ib::FieldRef place = place_of(layout, field);
  ib::write_number(bytes_of(layout, index), place, number);
}

std::size_t VendorAgent::times(std::uint32_t register_id) const {
  return static_cast<std::size_t>(std::ranges::count_if(asked, [=](const Mad& request) {
    return ib::load_be<std::uint16_t>(&request[16]) == mlx::AccessRegister::attribute_id &&
           ib::load_be<std::uint32_t>(&request[20]) == register_id;
  }));
}

/// The value that is stored, with the index fields of the request.
std::optional<VendorAgent::Mad> VendorAgent::register_answer(Bytes request) {
  const auto id = ib::load_be<std::uint32_t>(&request[20]);
  if (silent_about.contains(id)) return std::nullopt;
  if (busy_next != 0) {
    --busy_next;
    return reply_to(request, ib::mad::status::busy);
  }
  const Bytes attribute = request.subspan(vendor_data);
  const ib::StructInfo* layout = ib::find_register(id, attribute);
  if (layout == nullptr || unsupported.contains(id)) return reply_to(request, register_not_supported);
  const auto value = values_.find({layout, index_in(attribute, *layout)});
  if (value == values_.end()) return reply_to(request, ib::mad::status::invalid_attribute_or_modifier);
  Mad reply = reply_to(request);
  const bool is_first_block = ib::load_be<std::uint16_t>(&attribute[block_number_at]) == 0;
  if (!is_first_block) std::fill(reply.begin() + vendor_data + data_at, reply.end(), std::uint8_t{0});  // what no layout describes
  for (std::size_t i = 0; is_first_block && i < value->second.size(); ++i)
    reply[vendor_data + i] = static_cast<std::uint8_t>(attribute[i] | value->second[i]);
  if (wrong_port) ++reply[vendor_data + local_port_at];
  if (answers_instead != 0) ib::store_be(&reply[20], answers_instead);
  if (short_about.contains(id)) reply.resize(short_reply);
  return reply;
}

VendorAgent::Mad VendorAgent::smp_answer(Bytes request) const {
  const ib::StructInfo* layout = ib::find_attribute(request[1], request[2], ib::load_be<std::uint16_t>(&request[16]));
  const auto value = values_.find({layout, ib::load_be<std::uint32_t>(&request[20])});
  if (layout == nullptr || value == values_.end()) return reply_to(request, ib::mad::status::unsupported_method_attribute);
  Mad reply = reply_to(request);
  std::ranges::copy(value->second, reply.begin() + smp_data);
  return reply;
}

std::optional<VendorAgent::Mad> VendorAgent::answer(Bytes request) {
  asked.emplace_back(request.begin(), request.end());
  if (ib::mad::is_smp(request[1])) return smp_answer(request);
  const bool has_key = vs_key == 0 || ib::load_be<std::uint64_t>(&request[vendor_data]) == vs_key;
  if (is_silent || !has_key) return std::nullopt;
  const auto attribute = ib::load_be<std::uint16_t>(&request[16]);
  if (attribute == mlx::Is4GeneralInfo::attribute_id && has_general) {
    Mad reply = reply_to(request);
    general.pack(ib::MutableBytes(reply).subspan(vendor_data, mlx::Is4GeneralInfo::wire_size));
    return reply;
  }
  if (attribute != mlx::AccessRegister::attribute_id || request[3] != ib::mad::method::get)
    return reply_to(request, ib::mad::status::unsupported_method_attribute);
  return register_answer(request);
}

}  // namespace ibtest
