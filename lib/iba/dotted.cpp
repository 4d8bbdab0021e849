// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dotted listing and the text of single field values.
#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/dialects.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"

namespace ib {
namespace {

class Listing {
 public:
  Listing(std::string& out, const DottedOptions& options) : out_(out), options_(options) {}

  void run(Bytes bytes, const StructInfo& info, const std::string& prefix) {
    std::string_view previous;
    for (const FieldInfo& f : info.fields) {
      if (options_.leaves_out != nullptr && options_.leaves_out(f)) continue;
      const std::string_view was = dialects_of(f).was;
      const bool was_reserved = !was.empty() && read_number(bytes, f) == 0;
      const bool again = was_reserved && (was == "-" || was == previous);
      previous = was.empty() ? f.iba_name : was;
      if (again || ((f.reserved || was_reserved) && !options_.reserved)) continue;
      field(bytes, info, f, prefix, was_reserved ? was : std::string_view());
    }
  }

 private:
  void field(Bytes bytes, const StructInfo& info, const FieldInfo& f, const std::string& prefix, std::string_view was) {
    if (const StructInfo* inner = held_structure(bytes, info, f)) {
      for (std::uint32_t i = 0; i < f.count; ++i) {
        const std::string index = f.count > 1 ? '[' + std::to_string(i) + ']' : "";
        const std::size_t at = std::min<std::size_t>((f.bit_offset + i * f.bits) / 8, bytes.size());
        std::string inner_prefix = prefix;
        inner_prefix.append(f.iba_name).append(index).append(1, '.');
        run(bytes.subspan(at, std::min<std::size_t>(inner->bytes, bytes.size() - at)), *inner, inner_prefix);
      }
      return;
    }
    std::string name = !was.empty() ? std::string(was) : styled_name(f, options_.names);
    if (!was.empty()) name[0] = 'R';
    name.insert(0, prefix);
    if (!was.empty()) return line(name, "0");
    if (options_.keys == Keys::hidden && holds_secret(bytes, f)) return line(name, std::string(hidden_text));
    if (f.count == 1)
      return line(name, options_.words && f.enumeration != nullptr ? worded(f, read_number(bytes, f)) : field_text(bytes, f));
    if (f.bits > 16 || options_.element_lines) {
      for (std::uint32_t i = 0; i < f.count; ++i) line(name + '[' + std::to_string(i) + ']', field_text(bytes, f, i));
      return;
    }
    std::string list;
    for (std::uint32_t i = 0; i < f.count; ++i) list += (i == 0 ? "" : ", ") + std::to_string(i) + ':' + field_text(bytes, f, i);
    line(name, '[' + list + ']');
  }

  void line(std::string name, const std::string& value) {
    if (options_.colon) name += ':';
    out_ += options_.indent;
    out_ += name;
    out_.append(name.size() < options_.column ? options_.column - name.size() : 0, '.');
    out_ += value + '\n';
  }

  std::string& out_;
  const DottedOptions& options_;
};

}  // namespace

std::string worded(const FieldInfo& field, std::uint64_t value) {
  constexpr std::uint32_t bits_of_short_flags = 8;
  const std::string number = field.display == Display::hex ? to_hex(value, (field.bits + 3) / 4) : std::to_string(value);
  if (field.enumeration == nullptr) return number;
  const EnumInfo& names = *field.enumeration;
  std::uint64_t known = 0;
  for (const EnumValue& name : names.values) known |= name.number;
  if (names.flags && (field.bits > bits_of_short_flags || (value & ~known) != 0)) return number;
  const std::string listed = symbol(names, value);
  std::string words;
  for (const std::string_view word : split_list(listed)) words.append(words.empty() ? "" : " or ").append(word);
  return words.empty() || words == number ? number : words + " (" + number + ')';
}

std::string field_text(Bytes bytes, const FieldInfo& field, std::uint32_t index) {
  const Value value = read_field(bytes, field, index);
  if (const auto* number = std::get_if<std::uint64_t>(&value))
    return field.display == Display::hex ? to_hex(*number, (field.bits + 3) / 4) : std::to_string(*number);
  if (const auto* lid = std::get_if<Lid>(&value)) return field.display == Display::hex ? to_hex(lid->value, 4) : to_text(*lid);
  if (const auto* prefix = std::get_if<GidPrefix>(&value)) return to_text(*prefix);
  if (const auto* guid = std::get_if<Guid>(&value)) return to_text(*guid);
  if (const auto* gid = std::get_if<Gid>(&value)) return to_text(*gid);
  const Bytes raw = std::get<Bytes>(value);
  return field.kind == FieldKind::text ? in_quotes(fixed_text(raw)) : hex_text(raw);
}

std::string styled_name(const FieldInfo& field, NameStyle style) {
  const FieldDialects names = dialects_of(field);
  std::string_view special;
  if (style == NameStyle::smpquery) special = names.smpquery;
  if (style == NameStyle::saquery) special = names.saquery;
  if (style == NameStyle::perfquery) special = names.perfquery;
  if (!special.empty()) return std::string(special);
  std::string name(field.iba_name);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string dotted(Bytes bytes, const StructInfo& info, const DottedOptions& options) {
  std::string out;
  Listing(out, options).run(bytes, info, {});
  return out;
}

}  // namespace ib
