// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/fake_registers.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/bytes.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"

namespace ibtest {
namespace {

namespace mlx = ib::mlx;
using ib::Bytes;

constexpr std::size_t vendor_data = 24;
constexpr std::uint16_t register_not_supported = 0x14, bad_parameter = 0x1c, unsupported_attribute = 0x0c;

/// The port, sensor or fan in a request.
unsigned index_in(Bytes attribute, const ib::StructInfo& layout) {
  for (const std::string_view name : {"local_port", "sensor_index", "tacho"}) {
    if (const ib::FieldInfo* field = ib::find_field(layout, name)) return static_cast<unsigned>(ib::read_number(attribute, *field));
  }
  return 0;
}

ib::FieldRef place_of(const ib::StructInfo& layout, std::string_view field) {
  const auto place = ib::find_path(layout, field);
  if (!place) throw std::invalid_argument(std::string(layout.iba_name) + " has no field " + std::string(field));
  return *place;
}

}  // namespace

std::vector<std::uint8_t>& FakeRegisters::bytes_of(const ib::StructInfo& layout, unsigned index) {
  auto& bytes = values_[{&layout, index}];
  bytes.resize(layout.bytes);
  return bytes;
}

void FakeRegisters::set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::string_view text) {
  const ib::FieldRef place = place_of(layout, field);
  auto& bytes = bytes_of(layout, index);
  const std::size_t at = place.bit_offset / 8, size = place.field->bits / 8;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, std::uint8_t{0});
  std::ranges::copy(text.substr(0, size), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void FakeRegisters::set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::uint64_t number) {
  const ib::FieldRef place = place_of(layout, field);
  ib::write_number(bytes_of(layout, index), place, number);
}

std::size_t FakeRegisters::times(std::uint32_t register_id) const {
  return static_cast<std::size_t>(std::ranges::count_if(asked, [=](const FakeFabric::Answer& request) {
    return ib::load_be<std::uint16_t>(&request[16]) == mlx::AccessRegister::attribute_id &&
           ib::load_be<std::uint32_t>(&request[20]) == register_id;
  }));
}

/// The value that is stored, with the index fields of the request.
FakeFabric::Answer FakeRegisters::register_answer(Bytes request) const {
  const auto id = ib::load_be<std::uint32_t>(&request[20]);
  const Bytes attribute = request.subspan(vendor_data);
  const ib::StructInfo* layout = ib::find_register(id, attribute);
  if (layout == nullptr || unsupported.contains(id)) return answer_to(request, register_not_supported);
  const auto value = values_.find({layout, index_in(attribute, *layout)});
  if (value == values_.end()) return answer_to(request, bad_parameter);
  FakeFabric::Answer reply = answer_to(request);
  for (std::size_t i = 0; i < value->second.size(); ++i)
    reply[vendor_data + i] = static_cast<std::uint8_t>(attribute[i] | value->second[i]);
  if (wrong_port) ++reply[vendor_data + 13];
  if (answers_instead != 0) ib::store_be(&reply[20], answers_instead);
  return reply;
}

std::optional<FakeFabric::Answer> FakeRegisters::answer(Bytes request) {
  asked.emplace_back(request.begin(), request.end());
  const auto attribute = ib::load_be<std::uint16_t>(&request[16]);
  if (attribute == mlx::Is4GeneralInfo::attribute_id && has_general) {
    FakeFabric::Answer reply = answer_to(request);
    general.pack(ib::MutableBytes(reply).subspan(vendor_data, mlx::Is4GeneralInfo::wire_size));
    return reply;
  }
  if (attribute != mlx::AccessRegister::attribute_id || request[3] != ib::mad::method::get)
    return answer_to(request, unsupported_attribute);
  if (silent_about.contains(ib::load_be<std::uint32_t>(&request[20]))) return std::nullopt;
  return register_answer(request);
}

FakeRegisters& run_registers(FakeFabric& fabric, FakeFabric::NodeId node) {
  constexpr std::uint32_t mellanox = 0x2c9;
  fabric.node(node).info.vendor_id = mellanox;
  const auto agent = std::make_shared<FakeRegisters>(fabric, node);
  agent->general.capability_mask = mlx::general_capabilities::is_access_register_supported;
  fabric.node(node).services[vendor_class].answer = [agent](unsigned, Bytes request) { return agent->answer(request); };
  return *agent;
}

}  // namespace ibtest
