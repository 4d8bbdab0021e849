// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"

namespace ib::sa {
namespace {

constexpr std::string_view line_start = "\t\t";
constexpr unsigned first_multicast_lid = 0xc000;

/// A nested attribute that is printed.
struct HeldAttribute {
  Bytes bytes;
  const StructInfo& info;
  std::uint64_t block;  ///< BlockNum of the record, or 0
  RecordNames names;
  DottedOptions style;  ///< the style of the record's own members
  bool in_full;         ///< see table_text()
};

template <class T>
T unpacked(const HeldAttribute& part) {
  return wire::unpack_short<T>(part.bytes);
}

void add_flat(std::string& out, const HeldAttribute& part) { out += dotted(part.bytes, part.info, part.style); }

void add_description(std::string& out, const HeldAttribute& part) {
  constexpr std::string_view name = "NodeDescription";
  out += fmt::format("{}{}{}{}\n", line_start, name, std::string(part.style.column - name.size(), '.'), escaped(fixed_text(part.bytes)));
}

/// Prints an attribute with the names of smpquery, under a title.
void add_section(std::string& out, const HeldAttribute& part) {
  DottedOptions style = part.style;
  if (part.names == RecordNames::saquery) {
    style.names = NameStyle::smpquery;
    style.colon = true;
    style.column = DottedOptions{}.column;
  }
  out += fmt::format("\t{} dump:\n", part.info.title) + dotted(part.bytes, part.info, style);
}

void add_linear_table(std::string& out, const HeldAttribute& part) {
  out += fmt::format("{0}LFT:\n{0}LID\tPort Number\n", line_start);
  std::uint64_t lid = part.block * 64;
  for (const std::uint8_t port : unpacked<smp::LinearForwardingTable>(part).port_block)
    out += fmt::format("{}{}\t{}\n", line_start, lid++, port);
}

void add_multicast_table(std::string& out, const HeldAttribute& part) {
  out += fmt::format("{0}MFT:\n{0}MLID\tPort Mask\n", line_start);
  std::uint64_t lid = first_multicast_lid + part.block * 32;
  for (const std::uint16_t mask : unpacked<smp::MulticastForwardingTable>(part).port_mask_block)
    out += fmt::format("{}{:#x}\t{:#0{}x}\n", line_start, lid++, mask, part.in_full ? 6 : 0);
}

void add_pkey_table(std::string& out, const HeldAttribute& part) {
  out += fmt::format("{}PKey Table:\n", line_start);
  std::size_t i = 0;
  for (const std::uint16_t pkey : unpacked<smp::PKeyTable>(part).p_key_block) {
    out += fmt::format("{}{:#06x}", i % 8 == 0 ? line_start : std::string_view(" "), pkey);
    if (++i % 8 == 0) out += '\n';
  }
}

void add_vl_arbitration(std::string& out, const HeldAttribute& part) {
  const auto entries = unpacked<smp::VLArbitrationTable>(part).vl_weight_block;
  const auto row = [&](std::string_view name, std::size_t first, unsigned shift, unsigned mask) {
    out += fmt::format("{}{}:", line_start, name);
    for (std::size_t i = first; i < first + 16; ++i) out += fmt::format("{:2}|", entries[i] >> shift & mask);
    out += '\n';
  };
  for (const std::size_t first : {0U, 16U}) {
    row("VL    ", first, 8, part.in_full ? 0xff : 0xf);
    row("Weight", first, 0, 0xff);
  }
}

struct AttributeForm {
  const StructInfo& (*attribute)();
  void (*add)(std::string& out, const HeldAttribute& part);
  unsigned column = 0;     ///< the column of values in the whole record; 0: the usual one
  bool has_title = false;  ///< then the record's own members have a title too
};
constexpr AttributeForm forms[] = {
    {smp::NodeInfo::info, add_flat, 24},
    {smp::NodeDescription::info, add_description},
    {smp::PortInfo::info, add_section, 0, true},
    {smp::SwitchInfo::info, add_section, 0, true},
    {smp::LinearForwardingTable::info, add_linear_table},
    {smp::MulticastForwardingTable::info, add_multicast_table},
    {smp::PKeyTable::info, add_pkey_table},
    {smp::VLArbitrationTable::info, add_vl_arbitration},
};

const AttributeForm* find_form(const FieldInfo& field) {
  const auto form =
      std::ranges::find_if(forms, [&](const AttributeForm& f) { return field.structure != nullptr && field.structure == &f.attribute(); });
  return form != std::end(forms) ? &*form : nullptr;
}

/// Whether python-rdma's text of a record is known: it has numbers without their words.
bool is_recorded(const StructInfo& info) {
  const std::array recorded{&mad::ClassPortInfo::info(),       &NodeRecord::info(),       &PortInfoRecord::info(),
                            &SLToVLMappingTableRecord::info(), &SwitchInfoRecord::info(), &LinearForwardingTableRecord::info(),
                            &VLArbitrationTableRecord::info(), &LinkRecord::info(),       &GuidInfoRecord::info(),
                            &PKeyTableRecord::info(),          &PathRecord::info(),       &MCMemberRecord::info()};
  return std::ranges::find(recorded, &info) != recorded.end();
}

DottedOptions make_style(const StructInfo& info, RecordNames names, Keys keys) {
  DottedOptions style;
  style.keys = keys;
  style.indent = line_start;
  style.words = !is_recorded(info);
  if (names == RecordNames::internal) return style;
  style.names = NameStyle::saquery;
  style.reserved = true;
  style.column = 25;
  for (const FieldInfo& field : info.fields) {
    if (const AttributeForm* form = find_form(field); form != nullptr && form->column != 0) style.column = form->column;
  }
  return style;
}

void add_held(std::string& out, Bytes record, const StructInfo& info, RecordNames names, const DottedOptions& style, bool in_full) {
  const FieldInfo* block = find_field(info, "block_num");
  const std::uint64_t number = block != nullptr ? read_number(record, *block) : 0;
  for (const FieldInfo& field : info.fields) {
    if (const AttributeForm* form = find_form(field))
      form->add(out, {field_bytes(record, field), *field.structure, number, names, style, in_full});
  }
}

}  // namespace

std::string record_text(Bytes record, const StructInfo& info, RecordNames names, Keys keys) {
  const DottedOptions style = make_style(info, names, keys);
  const bool has_title = std::ranges::any_of(info.fields, [](const FieldInfo& field) {
    const AttributeForm* form = find_form(field);
    return form != nullptr && form->has_title;
  });
  std::string out = has_title ? "\tRID:\n" : "";
  DottedOptions own = style;
  own.leaves_out = [](const FieldInfo& field) { return find_form(field) != nullptr; };
  out += dotted(record, info, own);
  add_held(out, record, info, names, style, false);
  return out;
}

std::string table_text(Bytes record, const StructInfo& info) {
  std::string out;
  add_held(out, record, info, RecordNames::saquery, {}, true);
  return out;
}

}  // namespace ib::sa
