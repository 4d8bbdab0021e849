// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The word dump in python-rdma's form, the dotted listing, and the text of single field values. In the dump, numbers of 2^63 and more end
// in `L`, because python-rdma prints Python 2 long integers.
#include "iba/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"

namespace ib {
namespace {

std::string decimal(std::uint64_t value) {
  std::string out = std::to_string(value);
  if (value >> 63 != 0) out += 'L';
  return out;
}

std::string value_text(const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return decimal(*number);
  if (const auto* lid = std::get_if<Lid>(&value)) return to_text(*lid);
  if (const auto* prefix = std::get_if<GidPrefix>(&value)) return decimal(prefix->value);
  if (const auto* guid = std::get_if<Guid>(&value)) return "GUID('" + to_text(*guid) + "')";
  if (const auto* gid = std::get_if<Gid>(&value)) return "GID('" + to_text(*gid) + "')";
  return '<' + std::to_string(std::get<Bytes>(value).size()) + " bytes>";
}

/// The name that the dump shows for `f`. A field that was reserved in older versions of the IBA has its old name while it is
/// zero. Empty if the dump leaves the field out.
std::string_view name_of(Bytes bytes, const FieldInfo& f, std::string_view previous) {
  const std::string_view was = dialects_of(f).was;
  if (was.empty() || read_number(bytes, f) != 0) return f.iba_name;
  return was == "-" || was == previous ? std::string_view{} : was;
}

/// Walks the words of one structure. A nested structure gets a Words of its own for its part of the bytes. `shown` is `bytes`
/// with zeros in place of hidden keys.
class Words {
 public:
  Words(std::string& out, Bytes bytes, Bytes shown, const StructInfo& info, std::uint32_t offset, std::string prefix)
      : out_(out),
        bytes_(bytes.first(std::min<std::size_t>(bytes.size(), info.bytes))),
        shown_(shown.first(bytes_.size())),
        info_(info),
        offset_(offset),
        prefix_(std::move(prefix)) {}

  void run() {
    for (const FieldInfo& f : info_.fields) {
      if (newer_and_empty(f)) break;
      const std::uint32_t total = f.bits * f.count;
      const bool aligned = f.bit_offset % 32 == 0 && total % 32 == 0;
      if (f.bit_offset / 8 >= end()) break;
      if (aligned && whole_words(f)) continue;
      flush_before(f.bit_offset);
      pending_.push_back(text(f));
      if (pending_.back().empty()) pending_.pop_back();
      const std::string_view was = dialects_of(f).was;
      previous_ = was.empty() ? f.iba_name : was;
      upto_ = f.bit_offset + total;
    }
    flush();
  }

 private:
  std::uint32_t end() const { return static_cast<std::uint32_t>(bytes_.size()); }

  /// Whether `f` begins the part that older versions of the structure do not have, and all of that part is zero. Such a part is
  /// left out.
  bool newer_and_empty(const FieldInfo& f) const {
    return dialects_of(f).was == "-" && is_zero(bytes_.subspan(std::min<std::size_t>(f.bit_offset / 8, bytes_.size())));
  }

  bool is_hidden(const FieldInfo& f) const { return holds_secret(bytes_, f) && !holds_secret(shown_, f); }

  std::string text(const FieldInfo& f) const {
    const std::string_view name = name_of(bytes_, f, previous_);
    if (name.empty()) return {};
    if (is_hidden(f)) return std::string(name) + '=' + std::string(hidden_text);
    if (f.count == 1) return std::string(name) + '=' + value_text(read_field(bytes_, f));
    std::string list;
    for (std::uint32_t i = 0; i < f.count; ++i) list += (i == 0 ? "" : ", ") + value_text(read_field(bytes_, f, i));
    return std::string(name) + "=[" + list + ']';
  }

  /// Prints a structure, an array or a text on lines of its own. Returns false for a plain field.
  bool whole_words(const FieldInfo& f) {
    if (const StructInfo* inner = held_structure(bytes_, info_, f)) {
      flush();
      for (std::uint32_t i = 0; i < f.count; ++i) nested(f, *inner, i);
      at_ = (f.bit_offset + f.bits * f.count) / 8;
      return true;
    }
    if (f.count == 1 && f.kind != FieldKind::text) return false;
    flush();
    if (f.kind == FieldKind::text) {
      elements(f, 8, f.bits / 8);
    } else {
      elements(f, f.bits, f.count);
    }
    return true;
  }

  void nested(const FieldInfo& f, const StructInfo& inner, std::uint32_t index) {
    const std::string name = prefix_ + std::string(f.iba_name) + (f.count > 1 ? '[' + std::to_string(index) + ']' : "");
    const std::uint32_t at = f.bit_offset / 8 + index * (f.bits / 8);
    out_ += "   + " + name + ' ' + std::string(inner.iba_name) + '\n';
    const std::size_t from = std::min<std::size_t>(at, bytes_.size());
    Words(out_, bytes_.subspan(from), shown_.subspan(from), inner, offset_ + at, name + '.').run();
    if (f.count == 1 && at + f.bits / 8 < end()) out_ += "   - " + name + '\n';
    if (f.count > 1 && index + 1 == f.count && at + f.bits / 8 < end()) out_ += "   - " + prefix_ + std::string(f.iba_name) + '\n';
  }

  void elements(const FieldInfo& f, std::uint32_t width, std::uint32_t count) {
    at_ = f.bit_offset / 8;
    FieldInfo one = f;
    one.bits = width;
    if (f.kind == FieldKind::text) one.kind = FieldKind::uint;
    for (std::uint32_t i = 0; i < count;) {
      std::string list;
      for (; i < count && i * width < (at_ * 8 - f.bit_offset) + 32; ++i) {
        if (!list.empty()) list += ", ";
        if (i == 0) list += std::string(f.iba_name) + "=[";
        list += std::to_string(i) + ':' + value_text(read_field(bytes_, one, i));
        if (i + 1 == count) list += ']';
      }
      word(list);
    }
    while (at_ < (f.bit_offset + width * count) / 8) word({});
    upto_ = at_ * 8;
  }

  /// Prints the pending word if `bit` lies in a later word.
  void flush_before(std::uint32_t bit) {
    if (bit >= at_ * 8 + 32 || (bit % 32 == 0 && bit > at_ * 8)) flush();
  }

  void flush() {
    std::string list;
    for (const std::string& p : pending_) list += (list.empty() ? "" : ",") + p;
    pending_.clear();
    while (upto_ > at_ * 8 && at_ < end()) {
      word(list);
      list.clear();
    }
  }

  void word(const std::string& list) {
    fmt::format_to(std::back_inserter(out_), "{:3} ", offset_ + at_);
    for (std::uint32_t i = at_; i < std::min(at_ + 4, end()); ++i) fmt::format_to(std::back_inserter(out_), "{:02X}", shown_[i]);
    out_ += ' ' + list + '\n';
    at_ += 4;
  }

  std::string& out_;
  Bytes bytes_, shown_;
  const StructInfo& info_;
  std::uint32_t offset_;
  std::string prefix_;
  std::vector<std::string> pending_;
  std::string_view previous_;
  std::uint32_t at_ = 0;    ///< the next byte to print
  std::uint32_t upto_ = 0;  ///< the bit after the last field taken
};

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
    fmt::format_to(std::back_inserter(out_), "{}{:.<{}}{}\n", options_.indent, name, options_.column, value);
  }

  std::string& out_;
  const DottedOptions& options_;
};

}  // namespace

std::string dump_words(Bytes bytes, const StructInfo& info, Keys keys, std::uint32_t offset) {
  const std::vector<std::uint8_t> masked = keys == Keys::hidden ? without_secrets(bytes, info) : std::vector<std::uint8_t>();
  std::string out;
  Words(out, bytes, keys == Keys::hidden ? Bytes(masked) : bytes, info, offset, {}).run();
  return out;
}

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
