// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "iba-gen/mad.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib {

/// GET_TABLE for the method that iba-defs calls get_table.
std::string mad_method_name(std::uint8_t number) {
  const auto methods = mad::method::info().values;
  const auto found = std::ranges::find(methods, number, &EnumValue::number);
  std::string name(found != methods.end() ? found->name.view() : "??");
  if (name.ends_with('_')) name.pop_back();  // delete_
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return name;
}

std::string mad_status_text(std::uint16_t status) {
  constexpr std::array<std::string_view, 8> codes = {"Ok", "Bad version", "Unsupported method",      "Unsupported method+attr", "??",
                                                     "??", "??",          "Invalid attr or modifier"};
  std::string out;
  if ((status & mad::status::busy) != 0) out += "BUSY ";
  if ((status & mad::status::redirect) != 0) out += "REDIRECT ";
  out += codes[status >> 2 & 7];
  return out;
}

std::string mad_description(Bytes mad) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(wire::get_bits(mad, at * 8, 8)); };
  const auto attribute_id = static_cast<std::uint16_t>(wire::get_bits(mad, 128, 16));
  const StructInfo* format = find_format(byte(1), byte(2), 1, mad_oui(mad));
  const StructInfo* attribute = find_attribute_in(mad);
  return fmt::format("MAD_METHOD_{}({}) {}({}.{}) {}({})", mad_method_name(byte(3)), byte(3), format != nullptr ? format->iba_name : "??",
                     byte(1), byte(2), attribute != nullptr ? attribute->iba_name : "??", attribute_id);
}

}  // namespace ib
