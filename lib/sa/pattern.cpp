// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"

namespace ib::sa {
namespace {

constexpr std::size_t gid_size = 16;
constexpr std::size_t sources_at = 15, destinations_at = 16;  // offsets of the counts
constexpr std::size_t gids_at = MultiPathRecord::wire_size - gid_size * std::tuple_size_v<decltype(MultiPathRecord::sd_gid)>;
constexpr unsigned most_gids = 255;

std::size_t end_of_gids(Bytes record) { return gids_at + gid_size * (std::size_t{record[sources_at]} + record[destinations_at]); }

/// Adds the component `LID`, or components like `LID[3]` for an array whose elements have one bit each. `outer`: the field of the record
/// that has the field as a member, or null.
void add_field(std::vector<Component>& all, const StructInfo& record, const FieldInfo* outer, const FieldInfo& field, bool each) {
  const bool is_split = each && field.count > 1;
  for (std::uint32_t i = 0; i < (is_split ? field.count : 1); ++i) {
    const auto path = [&](Word FieldInfo::*name) {
      return (outer != nullptr ? fmt::format("{}.{}", outer->*name, field.*name) : std::string(field.*name)) +
             (is_split ? fmt::format("[{}]", i) : "");
    };
    std::string member = path(&FieldInfo::iba_name);
    const auto ref = find_path(record, member);
    if (ref && ref->mask != 0) all.push_back({std::move(member), path(&FieldInfo::name), ref->mask_bit, ref->mask, field.reserved});
  }
}

/// The bytes of the structure that directly contains the field of `ref`.
Bytes structure_of(Bytes bytes, const FieldRef& ref) {
  return bytes.subspan((ref.bit_offset - ref.index * ref.field->bits - ref.field->bit_offset) / 8);
}

/// The value at `ref` as the text of python-rdma's repr().
std::string value_text(Bytes bytes, const FieldRef& ref) {
  const std::string text = field_text(structure_of(bytes, ref), *ref.field, ref.index);
  const Value value = read_path(bytes, ref);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* lid = std::get_if<Lid>(&value)) return std::to_string(lid->value);
  if (std::holds_alternative<Guid>(value)) return fmt::format("GUID('{}')", text);
  if (std::holds_alternative<Gid>(value)) return fmt::format("GID('{}')", text);
  if (std::holds_alternative<GidPrefix>(value)) return fmt::format("GIDPrefix('{}')", text);
  return text;
}

/// The GID list of a MultiPathRecord that `member` names. A PathRecord has the names SGID and DGID too.
std::optional<PathEnd> end_of_path(std::string_view member) {
  const FieldInfo* field = find_field(PathRecord::info(), member);
  if (field == nullptr || (field->name != "sgid" && field->name != "dgid")) return {};
  return field->name == "sgid" ? PathEnd::source : PathEnd::destination;
}

Gid parse_end(PathEnd end, std::string_view text) {
  std::vector<std::uint8_t> bytes(PathRecord::wire_size);
  set_field(bytes, PathRecord::info(), end == PathEnd::source ? "SGID" : "DGID", text);
  const auto path = PathRecord::unpack(bytes);
  return end == PathEnd::source ? path.sgid : path.dgid;
}

std::vector<QueryInfo> make_types() {
  std::vector<QueryInfo> made;
  std::ranges::copy_if(all_queries(), std::back_inserter(made), &QueryInfo::by_sa);
  std::ranges::sort(made, [](const QueryInfo& a, const QueryInfo& b) { return a.classic != b.classic ? a.classic : a.name < b.name; });
  return made;
}

/// The parts of "LID/PORT/BLOCK". A name in the place of the LID may have slashes in it: parts that are not numbers belong to the name.
std::vector<std::string_view> parts_of(std::string_view word) {
  std::vector<std::string_view> parts = split(word, "/");
  if (parts.front().empty() || parse_number(parts.front())) return parts;
  std::size_t name_end = parts.front().size(), joined = 1;
  for (std::size_t at = 1, end = name_end; at < parts.size(); ++at) {
    end += 1 + parts[at].size();
    if (parts[at].empty() || parse_number(parts[at])) continue;
    name_end = end;
    joined = at + 1;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(joined));
  parts.insert(parts.begin(), word.substr(0, name_end));
  return parts;
}

std::array<std::string_view, 3> names_of(const QueryInfo& type) { return {type.name, type.alias, type.info->iba_name}; }

}  // namespace

std::vector<Component> components(const StructInfo& record) {
  std::vector<Component> all;
  for (const FieldInfo& field : record.fields) {
    if (field.structure == nullptr) {
      add_field(all, record, nullptr, field, field.mask_bits == field.count);
      continue;
    }
    for (const FieldInfo& inner : field.structure->fields) add_field(all, record, &field, inner, field.member_masks != 0);
  }
  std::ranges::stable_sort(all, {}, &Component::bit);
  return all;
}

Pattern::Pattern(const StructInfo& record)
    : record_(&record), form_(&record == &TraceRecord::info() ? &PathRecord::info() : &record), bytes_(form_->bytes) {}

Pattern::Pattern(const StructInfo& record, Bytes bytes, std::uint64_t component_mask) : Pattern(record) {
  component_mask_ = component_mask;
  std::copy_n(bytes.begin(), std::min(bytes.size(), bytes_.size()), bytes_.begin());
}

bool Pattern::is_multi_path() const { return record_ == &MultiPathRecord::info(); }

const StructInfo& Pattern::answer() const { return is_multi_path() ? PathRecord::info() : *record_; }

Bytes Pattern::bytes() const { return is_multi_path() ? used_part(bytes_) : Bytes(bytes_); }

FieldRef Pattern::component(std::string_view member) const {
  const auto ref = find_path(*form_, member);
  if (ref && ref->mask != 0) return *ref;
  std::vector<std::string> possible;
  for (Component& c : components(*form_)) {
    if (!c.reserved) possible.push_back(std::move(c.member));
  }
  if (is_multi_path()) possible.insert(possible.end(), {"SGID", "DGID"});
  if (possible.empty()) throw UsageError(fmt::format("Cannot set member queries with type {}", form_->iba_name));
  const std::vector<std::string_view> names(possible.begin(), possible.end());
  throw UsageError(fmt::format("Cannot set member {} on {}{} Try one of {}", escaped(member), form_->iba_name,
                               did_you_mean(member, names, "."), joined(names, ", ")));
}

void Pattern::match(std::string_view member, std::string_view text) {
  if (const auto end = is_multi_path() ? end_of_path(member) : std::nullopt) {
    component_mask_ |= MultiPathRecord::Query().sgid_count(0).dgid_count(0).component_mask;
    add_gid(bytes_, *end, parse_end(*end, text));
    return;
  }
  component_mask_ |= component(member).mask;
  set_field(bytes_, *form_, member, text);
}

void Pattern::match(std::string_view member, std::uint64_t value) {
  const FieldRef ref = component(member);
  component_mask_ |= ref.mask;
  write_number(bytes_, ref, value);
}

bool Pattern::matches_on(std::string_view member) const {
  const auto end = is_multi_path() ? end_of_path(member) : std::nullopt;
  if (!end) {
    const auto ref = find_path(*form_, member);
    return ref && (component_mask_ & ref->mask) != 0;
  }
  const auto record = MultiPathRecord::unpack(bytes_);
  return (*end == PathEnd::source ? record.sgid_count : record.dgid_count) != 0;
}

void Pattern::complete_selectors() {
  for (const FieldInfo& field : form_->fields) {
    const std::string selector = std::string(field.name) + "_selector";
    if (find_field(*form_, selector) == nullptr || !matches_on(field.name) || matches_on(selector)) continue;
    match(selector, static_cast<std::uint64_t>(Selector::exactly));
  }
}

std::vector<Pattern::Match> Pattern::matches() const {
  std::vector<Match> found;
  for (const Component& component : components(*form_)) {
    if ((component_mask_ & component.mask) == 0) continue;
    const FieldRef ref = *find_path(*form_, component.member);
    found.push_back({component, value_text(bytes_, ref), holds_secret(structure_of(bytes_, ref), *ref.field)});
  }
  return found;
}

void add_gid(std::vector<std::uint8_t>& record, PathEnd end, const Gid& gid) {
  const std::size_t count = end == PathEnd::source ? sources_at : destinations_at;
  if (record[count] == most_gids) throw Error("A MultiPathRecord holds no more than 255 GIDs of either end");
  const std::size_t used = end_of_gids(record) + gid_size;
  const std::size_t at = end == PathEnd::source ? gids_at + gid_size * record[sources_at] : used - gid_size;
  record.resize(std::max(record.size(), used - gid_size));
  record.insert(record.begin() + static_cast<std::ptrdiff_t>(at), gid.bytes.begin(), gid.bytes.end());
  record.resize(std::max(used, MultiPathRecord::wire_size));
  ++record[count];
}

Bytes used_part(Bytes record) {
  const std::size_t end = end_of_gids(record);
  return end == gids_at ? record : record.first(std::min(end, record.size()));
}

std::span<const QueryInfo> record_types() {
  static const std::vector<QueryInfo> all = make_types();
  return all;
}

const QueryInfo& find_record_type(std::string_view word, std::string_view list) {
  return find_by_prefix(word, record_types(), &QueryInfo::classic, names_of, list);
}

bool names_record(std::string_view word, const StructInfo& record) {
  return std::ranges::any_of(record_types(), [&](const QueryInfo& type) {
    return type.info == &record &&
           std::ranges::any_of(names_of(type), [&](std::string_view name) { return equal_ignoring_case(name, word); });
  });
}

std::vector<std::pair<std::string_view, std::string>> take_argument(const QueryInfo& type, std::vector<std::string>& words) {
  std::vector<std::pair<std::string_view, std::string>> result;
  if (type.members.empty()) return result;
  for (const std::string_view form : split(type.members, " ")) {
    if (words.empty()) break;
    const std::vector<std::string_view> members = split(form, "/");
    const std::vector<std::string_view> parts = members.size() == 1 ? std::vector<std::string_view>{words[0]} : parts_of(words[0]);
    if (parts.size() > members.size()) throw UsageError(fmt::format("Argument {} did not match {}", in_quotes(words[0]), type.argument));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].empty()) result.emplace_back(members[i], parts[i]);
    }
    words.erase(words.begin());
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> take_assignments(std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> taken;
  for (std::size_t equals = 0; !words.empty() && (equals = words.back().find('=')) != std::string::npos; words.pop_back())
    taken.emplace(taken.begin(), words.back().substr(0, equals), words.back().substr(equals + 1));
  return taken;
}

}  // namespace ib::sa
