// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/generic.hpp"

#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "base/split.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"

namespace ib {
namespace {

/// Splits `name[3]` into the name and 3. Empty if the brackets do not contain a number.
std::optional<std::pair<std::string_view, std::optional<std::uint32_t>>> split_index(std::string_view part) {
  if (part.empty() || part.back() != ']') return std::pair{part, std::optional<std::uint32_t>{}};
  const auto open = part.find('[');
  if (open == std::string_view::npos) return {};
  std::uint32_t index = 0;
  const char* first = part.data() + open + 1;
  const char* last = part.data() + part.size() - 1;
  const auto [end, error] = std::from_chars(first, last, index);
  if (error != std::errc{} || end != last) return {};
  return std::pair{part.substr(0, open), std::optional{index}};
}

int member_mask(const FieldInfo& outer, const FieldInfo& inner, std::uint32_t index) {
  for (const MemberMask& m : member_masks(outer)) {
    if (m.member == inner.name) return static_cast<int>(m.bit) + static_cast<int>(index);
  }
  return -1;
}

int own_mask(const FieldInfo& field, std::uint32_t index) {
  const bool each = field.count > 1 && field.mask_bits == field.count;
  return field.mask_bit < 0 ? -1 : field.mask_bit + static_cast<int>(each ? index : 0);
}

/// All component-mask bits of one value: usually one bit, but two bits for the ServiceID of a PathRecord.
std::uint64_t mask_of(const FieldInfo& field, bool direct, int first) {
  if (first < 0) return 0;
  const unsigned count = direct && field.count == 1 ? std::max<unsigned>(field.mask_bits, 1) : 1;
  return ((std::uint64_t{1} << count) - 1) << first;
}

/// The field of that name in a nested structure, for paths without a prefix. Null if several nested structures have one.
const FieldInfo* find_nested(const StructInfo& info, std::string_view name) {
  const FieldInfo* found = nullptr;
  for (const FieldInfo& f : info.fields) {
    if (f.structure == nullptr || f.count != 1 || find_field(*f.structure, name) == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = &f;
  }
  return found;
}

/// Throws UsageError. The message does not repeat the value of a key.
[[noreturn]] void bad_value(const StructInfo& info, const FieldInfo& f, std::string_view path, std::string_view text,
                            std::string_view wanted) {
  const std::string found = f.secret ? "" : ", not '" + std::string(text) + "'";
  throw UsageError(std::string(info.iba_name) + "." + std::string(path) + " wants " + std::string(wanted) + found);
}

std::uint64_t parse_uint(const StructInfo& info, const FieldInfo& f, std::string_view path, std::string_view text) {
  auto value = parse_number(text);
  if (!value && f.enumeration != nullptr) value = parse_symbol(*f.enumeration, text);
  if (!value) bad_value(info, f, path, text, "a number");
  if (f.bits < 64 && *value >> f.bits != 0) bad_value(info, f, path, text, "a number of " + std::to_string(f.bits) + " bits");
  return *value;
}

/// Whether the data of a ClassPortInfo of NVIDIA's class 0x0a begin with a key. Agents differ: of some the attribute begins where the data
/// begin, as vendstat reads it; of others it stands behind a key of 8 bytes, as all other attributes of the class do. BaseVersion and
/// ClassVersion, both 1, are its first two bytes. Data whose first 8 bytes are zero hold no key.
bool begins_with_key(Bytes data) {
  constexpr std::size_t key_size = 8;
  const auto has_versions_at = [data](std::size_t at) { return data.size() > at + 1 && data[at] == 1 && data[at + 1] == 1; };
  if (is_zero(data.first(std::min(data.size(), key_size)))) return false;
  return !has_versions_at(0) || has_versions_at(key_size);
}

void write_bytes(MutableBytes bytes, const FieldRef& ref, Bytes value) {
  const std::size_t at = ref.bit_offset / 8;
  const std::size_t size = ref.field->bits / 8;
  for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i) bytes[at + i] = i < value.size() ? value[i] : 0;
}

std::optional<std::string> parse_hex_bytes(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() % 2 != 0) return {};
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc{} || end != text.data() + i + 2) return {};
    out += static_cast<char>(byte);
  }
  return out;
}

void set_element(MutableBytes bytes, const StructInfo& info, const FieldRef& ref, std::string_view path, std::string_view text) {
  const FieldInfo& f = *ref.field;
  const auto known = [&](const auto& value, std::string_view wanted) {
    if (!value) bad_value(info, f, path, text, wanted);
    return *value;
  };
  if (f.kind == FieldKind::gid) {
    write_bytes(bytes, ref, known(parse_gid(text), "a GID").bytes);
  } else if (f.kind == FieldKind::text || f.kind == FieldKind::bytes) {
    const std::string raw = f.kind == FieldKind::bytes ? known(parse_hex_bytes(text), "pairs of hex digits") : std::string(text);
    if (raw.size() > f.bits / 8) bad_value(info, f, path, text, "at most " + std::to_string(f.bits / 8) + " bytes");
    write_bytes(bytes, ref, as_bytes(raw));
  } else if (f.kind == FieldKind::structure) {
    bad_value(info, f, path, text, "one of its members");
  } else if (f.kind == FieldKind::guid) {
    write_number(bytes, ref, known(parse_guid(text), "a GUID").value);
  } else if (f.kind == FieldKind::lid) {
    write_number(bytes, ref, known(parse_lid(text), "a LID").value);
  } else if (const auto prefix = f.display == Display::gid_prefix ? parse_gid_prefix(text) : std::nullopt) {
    write_number(bytes, ref, prefix->value);
  } else {
    write_number(bytes, ref, parse_uint(info, f, path, text));
  }
}

}  // namespace

Bytes field_bytes(Bytes bytes, const FieldInfo& field, std::uint32_t index, std::uint32_t base) {
  const std::size_t at = std::min<std::size_t>((base + field.bit_offset + std::size_t{index} * field.bits) / 8, bytes.size());
  return bytes.subspan(at, std::min<std::size_t>(field.bits / 8, bytes.size() - at));
}

std::uint64_t read_number(Bytes bytes, const FieldInfo& field, std::uint32_t index, std::uint32_t base) {
  if (field.bits > 64) return 0;
  return wire::get_bits(bytes, base + field.bit_offset + std::size_t{index} * field.bits, field.bits);
}

Value read_field(Bytes bytes, const FieldInfo& field, std::uint32_t index, std::uint32_t base) {
  switch (field.kind) {
    case FieldKind::gid: {
      Gid gid;
      const Bytes from = field_bytes(bytes, field, index, base);
      std::ranges::copy(from, gid.bytes.begin());
      return gid;
    }
    case FieldKind::guid:
      return Guid{read_number(bytes, field, index, base)};
    case FieldKind::lid:
      return Lid{static_cast<std::uint16_t>(read_number(bytes, field, index, base))};
    case FieldKind::uint:
      if (field.display == Display::gid_prefix) return GidPrefix{read_number(bytes, field, index, base)};
      return read_number(bytes, field, index, base);
    default:
      return field_bytes(bytes, field, index, base);
  }
}

const StructInfo& layout_of(const StructInfo& attribute, Bytes data) {
  const bool is_keyed = attribute.iba_name == "MlxClassPortInfo" && begins_with_key(data);
  return is_keyed ? *find_keyed_data(static_cast<std::uint8_t>(attribute.mgmt_class)) : attribute;
}

const StructInfo* held_structure(Bytes bytes, const StructInfo& info, const FieldInfo& field) {
  if (field.structure != nullptr) return field.structure;
  const auto number = [&](unsigned bit, unsigned width) { return wire::get_bits(bytes, bit, width); };
  const StructInfo* held = nullptr;
  if (info.format && field.name == "data") {
    held = find_attribute_in(bytes);
    if (held == nullptr) held = find_keyed_data(static_cast<std::uint8_t>(number(8, 8)));
    if (held != nullptr) held = &layout_of(*held, field_bytes(bytes, field));
  } else if (field.name == "data_details" && number(0, 1) == 1) {
    held = find_trap(static_cast<std::uint16_t>(number(32, 16)));
  }
  return held != nullptr && held->bytes * 8 <= field.bits ? held : nullptr;
}

std::optional<FieldRef> find_path(const StructInfo& info, std::string_view path) {
  const StructInfo* in = &info;
  const FieldInfo* outer = nullptr;
  FieldRef ref;
  while (true) {
    const auto dot = path.find('.');
    const auto part = split_index(path.substr(0, dot));
    if (!part) return {};
    const FieldInfo* field = find_field(*in, part->first);
    if (field == nullptr && (field = find_nested(*in, part->first)) != nullptr) {
      ref.bit_offset += field->bit_offset;
      outer = field;
      in = field->structure;
      continue;
    }
    if (field == nullptr) return {};
    const std::uint32_t index = part->second.value_or(0);
    if (index >= field->count || (part->second && field->count == 1)) return {};
    ref.field = field;
    ref.index = index;
    ref.whole = !part->second;
    ref.bit_offset += field->bit_offset + index * field->bits;
    ref.mask_bit = outer != nullptr ? member_mask(*outer, *field, index) : own_mask(*field, index);
    if (outer != nullptr && ref.mask_bit < 0) ref.mask_bit = outer->mask_bit;
    ref.mask = mask_of(*field, outer == nullptr, ref.mask_bit);
    if (dot == std::string_view::npos) return ref;
    if (field->structure == nullptr) return {};
    outer = field;
    in = field->structure;
    path.remove_prefix(dot + 1);
  }
}

Value read_path(Bytes bytes, const FieldRef& ref) {
  // read_field() adds the field's own offset again.
  return read_field(bytes, *ref.field, 0, ref.bit_offset - ref.field->bit_offset);
}

void write_number(MutableBytes bytes, const FieldRef& ref, std::uint64_t value) {
  if (ref.field->bits <= 64) wire::set_bits(bytes, ref.bit_offset, ref.field->bits, value);
}

FieldRef set_field(MutableBytes bytes, const StructInfo& info, std::string_view path, std::string_view text) {
  const auto ref = find_path(info, path);
  if (!ref) throw UsageError(std::string(info.iba_name) + " has no field '" + std::string(path) + "'");
  if (ref->field->changes)
    throw UsageError(std::string(info.iba_name) + "." + std::string(path) + " would change something in the device: it is never sent");
  set_element(bytes, info, *ref, path, text);
  return *ref;
}

std::vector<std::string> assignable_members(const StructInfo& info, const std::string& before) {
  std::vector<std::string> words;
  for (const FieldInfo& field : info.fields) {
    const std::string name = before + std::string(field.iba_name);
    if (field.reserved || field.changes) continue;
    if (field.structure != nullptr && field.count <= 1) {
      std::ranges::move(assignable_members(*field.structure, name + "."), std::back_inserter(words));
    } else {
      words.push_back(name + (field.count > 1 ? "[" : "="));
    }
  }
  return words;
}

std::vector<std::string> separate_assignments(const std::vector<std::string>& words, const StructInfo& info) {
  std::vector<std::string> separate;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    for (std::size_t comma = word.find(','); comma != std::string::npos; comma = word.find(',', comma + 1)) {
      const std::string_view rest = std::string_view(word).substr(comma + 1);
      const std::size_t equals = rest.find('=');
      if (equals == std::string_view::npos || !find_path(info, rest.substr(0, equals))) continue;
      separate.push_back(word.substr(begin, comma - begin));
      begin = comma + 1;
    }
    separate.push_back(word.substr(begin));
  }
  return separate;
}

void select_layout(MutableBytes bytes, const StructInfo& info) {
  if (info.selector < 0) return;
  const FieldInfo& field = info.fields[static_cast<std::size_t>(info.selector)];
  wire::set_bits(bytes, field.bit_offset, field.bits, info.selected);
}

bool is_layout(Bytes bytes, const StructInfo& info) {
  return info.selector < 0 || read_number(bytes, info.fields[static_cast<std::size_t>(info.selector)]) == info.selected;
}

std::string symbol(const EnumInfo& enumeration, std::uint64_t value) {
  std::string out;
  for (const EnumValue& v : enumeration.values) {
    if (!enumeration.flags && v.number == value) return std::string(v.text);
    if (enumeration.flags && (value & v.number) != 0) {
      if (!out.empty()) out += ',';
      out += v.text;
    }
  }
  return out;
}

std::optional<std::uint64_t> parse_symbol(const EnumInfo& enumeration, std::string_view text) {
  const auto one = [&](std::string_view word) -> std::optional<std::uint64_t> {
    const auto found = std::ranges::find_if(
        enumeration.values, [&](const EnumValue& v) { return equal_ignoring_case(v.name, word) || equal_ignoring_case(v.text, word); });
    if (found == enumeration.values.end()) return {};
    return found->number;
  };
  if (!enumeration.flags) return one(text);
  std::uint64_t all = 0;
  for (const std::string_view word : split(text, ",|")) {
    const auto bit = one(word);
    if (!bit) return {};
    all |= *bit;
  }
  return all;
}

}  // namespace ib
