// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"

namespace ib::sa {
namespace {

void add_component(std::vector<Component>& all, const StructInfo& record, std::string member, bool reserved) {
  const auto ref = find_path(record, member);
  if (ref && ref->mask != 0) all.push_back({std::move(member), ref->mask_bit, ref->mask, reserved});
}

/// `LID`, or `LID[3]` of an array whose elements have a bit each.
void add_field(std::vector<Component>& all, const StructInfo& record, const std::string& prefix, const FieldInfo& field, bool each) {
  const std::string member = prefix + std::string(field.iba_name);
  if (field.count == 1 || !each) {
    add_component(all, record, member, field.reserved);
    return;
  }
  for (std::uint32_t i = 0; i < field.count; ++i) add_component(all, record, fmt::format("{}[{}]", member, i), field.reserved);
}

/// The text of a value that stands at `ref`, alone and as python-rdma's repr() shows it.
std::pair<std::string, std::string> value_text(Bytes bytes, const FieldRef& ref) {
  const std::size_t outer = (ref.bit_offset - ref.index * ref.field->bits - ref.field->bit_offset) / 8;
  const std::string text = field_text(bytes.subspan(outer), *ref.field, ref.index);
  const Value value = read_path(bytes, ref);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return {text, std::to_string(*number)};
  if (const auto* lid = std::get_if<Lid>(&value)) return {text, std::to_string(lid->value)};
  if (std::holds_alternative<Guid>(value)) return {text, fmt::format("GUID('{}')", text)};
  if (std::holds_alternative<Gid>(value)) return {text, fmt::format("GID('{}')", text)};
  if (std::holds_alternative<GidPrefix>(value)) return {text, fmt::format("GIDPrefix('{}')", text)};
  return {text, text};
}

}  // namespace

std::vector<Component> components(const StructInfo& record) {
  std::vector<Component> all;
  for (const FieldInfo& field : record.fields) {
    if (field.structure == nullptr) {
      add_field(all, record, {}, field, field.mask_bits == field.count);
      continue;
    }
    const std::string prefix = std::string(field.iba_name) + ".";
    for (const FieldInfo& inner : field.structure->fields) add_field(all, record, prefix, inner, !field.member_masks.empty());
  }
  std::ranges::stable_sort(all, {}, &Component::bit);
  return all;
}

Pattern::Pattern(const StructInfo& record) : record_(&record), bytes_(record.bytes) {}

FieldRef Pattern::component(std::string_view member) const {
  const auto ref = find_path(*record_, member);
  if (ref && ref->mask != 0) return *ref;
  std::vector<std::string> possible;
  for (Component& c : components(*record_)) {
    if (!c.reserved) possible.push_back(std::move(c.member));
  }
  if (possible.empty()) throw UsageError(fmt::format("Cannot set member queries with type {}", record_->iba_name));
  throw UsageError(fmt::format("Cannot set member {} on {}. Try one of {}", escaped(member), record_->iba_name, fmt::join(possible, ", ")));
}

void Pattern::match(std::string_view member, std::string_view text) {
  component_mask_ |= component(member).mask;
  set_field(bytes_, *record_, member, text);
}

void Pattern::match(std::string_view member, std::uint64_t value) {
  const FieldRef ref = component(member);
  component_mask_ |= ref.mask;
  write_number(bytes_, ref, value);
}

bool Pattern::matches_on(std::string_view member) const {
  const auto ref = find_path(*record_, member);
  return ref && (component_mask_ & ref->mask) != 0;
}

void Pattern::complete_selectors() {
  for (const FieldInfo& field : record_->fields) {
    const std::string selector = std::string(field.name) + "_selector";
    if (find_field(*record_, selector) == nullptr || !matches_on(field.name) || matches_on(selector)) continue;
    match(selector, static_cast<std::uint64_t>(Selector::exactly));
  }
}

std::vector<Pattern::Match> Pattern::matches() const {
  std::vector<Match> found;
  for (const Component& c : components(*record_)) {
    if ((component_mask_ & c.mask) == 0) continue;
    auto [text, shown] = value_text(bytes_, *find_path(*record_, c.member));
    found.push_back({c.bit, c.member, std::move(text), std::move(shown)});
  }
  return found;
}

}  // namespace ib::sa
