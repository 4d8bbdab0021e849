// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The texts repeat libibmad's output, including its spelling. Tests compare them with the real library.
#include "iba/libibmad_text.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"

namespace ib {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view states[] = {"NoChange", "Down", "Initialize", "Armed", "Active"};
constexpr std::string_view physical_states[] = {"NoChange",          "Sleep",  "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
                                                "LinkErrorRecovery", "PhyTest"};
constexpr std::string_view mtus[] = {"", "256", "512", "1024", "2048", "4096"};
constexpr std::string_view vl_caps[] = {"", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14"};
constexpr std::string_view operational_vls[] = {"No change", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14"};
constexpr std::string_view node_types[] = {"", "Channel Adapter", "Switch", "Router"};
constexpr std::string_view widths[] = {"1X", "4X", "8X", "12X", "2X"};
constexpr std::string_view speeds[] = {"2.5 Gbps", "5.0 Gbps", "10.0 Gbps"};
constexpr std::string_view ext_speeds[] = {"14.0625 Gbps", "25.78125 Gbps", "53.125 Gbps", "106.25 Gbps"};
constexpr std::string_view ext_speeds2[] = {"212.5 Gbps"};
/// The bits of CapabilityMask that libibmad spells in its own way.
constexpr std::pair<unsigned, std::string_view> capabilities[] = {{9, "IsLedInfoSupported"},
                                                                  {11, "IsSystemImageGUIDsupported"},
                                                                  {12, "IsPkeySwitchExternalPortTrapSupported"},
                                                                  {13, ""},
                                                                  {16, "IsCommunicatonManagementSupported"},
                                                                  {25, "IsClientRegistrationSupported"},
                                                                  {29, "IsMcastPkeyTrapSuppressionSupported"}};
constexpr std::string_view capabilities2[] = {"IsSetNodeDescriptionSupported",   "IsPortInfoExtendedSupported", "IsVirtualizationSupported",
                                              "IsSwitchPortStateTableSupported", "IsLinkWidth2xSupported",      "IsLinkSpeedHDRSupported",
                                              "IsMKeyProtectBitsExtSupported",   "IsEnhancedTrap128Supported",  "IsPartitionTopSupported",
                                              "IsEnhancedQoSArbiterSupported",   "IsLinkSpeedNDRSupported"};

std::string undefined(std::uint64_t value) { return "undefined (" + std::to_string(value) + ")"; }

/// `names[value]`, or `?(value)` if the name is missing or empty; then with `tail`.
std::string choice(Names names, std::uint64_t value, std::string_view tail) {
  const std::string_view name = value < names.size() ? names[static_cast<std::size_t>(value)] : "";
  return name.empty() ? "?(" + std::to_string(value) + ")" + std::string(tail) : std::string(name);
}

/// The name of the only bit that is set. Otherwise `zero` for 0 (unless `zero` is empty), or "undefined".
std::string single(Names names, std::uint64_t value, std::string_view zero) {
  if (value == 0 && !zero.empty()) return std::string(zero);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value == std::uint64_t{1} << i) return std::string(names[i]);
  }
  return undefined(value);
}

/// The names of all bits that are set, joined by " or ". Bits without a name add "undefined": libibmad overwrites its text by a mistake
/// where it should append them. `zero` is the text of 0, unless it is empty.
std::string several(Names names, std::uint64_t value, std::string_view zero) {
  if (value == 0 && !zero.empty()) return std::string(zero);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((value >> i & 1) != 0) out += (out.empty() ? "" : " or ") + std::string(names[i]);
  }
  if (value >> names.size() != 0 || value == 0) out += (out.empty() ? "" : " or ") + undefined(value);
  return out;
}

/// The IBA once allowed only the widths 1X, 1X-4X, 1X-4X-8X, 1X-4X-12X and all of them together. Other combinations are marked.
std::string width_choice(Names names, std::uint64_t value, std::string_view) {
  std::string out = several(names, value, {});
  const std::uint64_t low = value & 15;
  const bool plain = low == 1 || low == 3 || low == 7 || low == 11 || (low == 15 && value < 32);
  if (value >> 5 == 0 && !plain) out += " (IBA extension)";
  return out;
}

std::string speed_choice(Names names, std::uint64_t value, std::string_view) {
  std::string out = several(names, value, {});
  if (value >> 3 == 0 && (value & 1) == 0) out += " (IBA extension)";
  return out;
}

std::string capability_name(unsigned bit) {
  const auto* const own = std::ranges::find(capabilities, bit, &std::pair<unsigned, std::string_view>::first);
  return own != std::end(capabilities) ? std::string(own->second) : symbol(smp::capability_mask::info(), std::uint64_t{1} << bit);
}

std::string capability2_name(unsigned bit) { return bit < std::size(capabilities2) ? std::string(capabilities2[bit]) : std::string(); }

template <std::string (*name_of)(unsigned bit)>
std::string mask_lines(Names, std::uint64_t value, std::string_view) {
  std::string out = to_hex(value);
  for (unsigned bit = 0; bit < 32; ++bit) {
    if (const std::string name = (value >> bit & 1) != 0 ? name_of(bit) : ""; !name.empty()) out += "\n\t\t\t\t" + name;
  }
  return out;
}

/// How numbers become words.
struct NumberWords {
  LibibmadText text;
  std::string (*of)(Names names, std::uint64_t value, std::string_view more);
  Names names{};
  std::string_view more{};
};
constexpr NumberWords number_words[] = {
    {LibibmadText::node_type, choice, node_types, "?"},
    {LibibmadText::linkdowndefstate, choice, Names(physical_states).first(3)},
    {LibibmadText::linkspeed, single, speeds, "Extended speed"},
    {LibibmadText::linkspeeden, speed_choice, speeds},
    {LibibmadText::linkspeedsup, speed_choice, speeds},
    {LibibmadText::linkspeedext, single, ext_speeds, "No Extended Speed"},
    {LibibmadText::linkspeedexten, several, ext_speeds, "0"},
    {LibibmadText::linkspeedextsup, several, ext_speeds, "0"},
    {LibibmadText::linkspeedext2, single, ext_speeds2, "No Extended Speed 2"},
    {LibibmadText::linkspeedexten2, several, ext_speeds2, "0"},
    {LibibmadText::linkspeedextsup2, several, ext_speeds2, "0"},
    {LibibmadText::linkwidth, single, widths},
    {LibibmadText::linkwidthen, several, widths},
    {LibibmadText::linkwidthsup, width_choice, widths},
    {LibibmadText::mtu, choice, mtus},
    {LibibmadText::opervls, choice, operational_vls},
    {LibibmadText::vlcap, choice, vl_caps},
    {LibibmadText::physportstate, choice, physical_states},
    {LibibmadText::portstate, choice, states},
    {LibibmadText::portcapmask, mask_lines<capability_name>},
    {LibibmadText::portcapmask2, mask_lines<capability2_name>},
};

std::string field_name(std::string_view libibmad, std::uint32_t index) {
  std::string name(libibmad);
  if (const auto at = name.find("{}"); at != std::string::npos) name.replace(at, 2, std::to_string(index));
  return name;
}

void list_field(std::string& out, Bytes bytes, const FieldInfo& field, Keys keys) {
  const std::string_view name = dialects_of(field).libibmad;
  const bool each = name.find("{}") != std::string_view::npos;
  for (std::uint32_t i = 0; i < (each ? field.count : 1); ++i)
    out += libibmad_line(field_name(name, i), keys == Keys::hidden && field.secret ? hidden_text : libibmad_text(bytes, field, i));
}

void list_rank(std::string& out, Bytes bytes, const StructInfo& info, unsigned rank, Keys keys) {
  for (const FieldInfo& f : info.fields) {
    const FieldDialects words = dialects_of(f);
    if (words.libibmad_text != LibibmadText::none && words.libibmad_rank == rank) list_field(out, bytes, f, keys);
  }
}

bool any_of_rank(Bytes bytes, const StructInfo& info, unsigned rank) {
  return std::ranges::any_of(info.fields,
                             [&](const FieldInfo& f) { return dialects_of(f).libibmad_rank == rank && read_number(bytes, f) != 0; });
}

}  // namespace

std::string libibmad_text(LibibmadText text, std::uint64_t value, unsigned bits) {
  if (text == LibibmadText::hex) return to_hex(value, (bits + 7) / 8 * 2);
  if (text == LibibmadText::linkspeedexten && value == 30) return "Extended link speeds disabled";
  const auto* const words = std::ranges::find(number_words, text, &NumberWords::text);
  return words == std::end(number_words) ? std::to_string(value) : words->of(words->names, value, words->more);
}

std::string libibmad_text(Bytes bytes, const FieldInfo& field, std::uint32_t index) {
  const FieldDialects words = dialects_of(field);
  if (words.libibmad_text == LibibmadText::string) {
    const Bytes text = field_bytes(bytes, field);
    return "'" + printable(fixed_text(text.first(std::min<std::size_t>(text.size(), 63)))) + "'";
  }
  if (words.libibmad_text == LibibmadText::array || field.kind == FieldKind::gid) {
    const std::size_t at = std::min<std::size_t>(field.bit_offset / 8, bytes.size());
    return hex_text(bytes.subspan(at, std::min<std::size_t>(std::size_t{field.bits} * field.count / 8, bytes.size() - at)));
  }
  FieldInfo seen = field;
  if (words.libibmad_bits != 0) seen.bits = words.libibmad_bits;
  return libibmad_text(words.libibmad_text, read_number(bytes, seen, index), seen.bits);
}

std::string libibmad_line(std::string_view name, std::string_view value) {
  return fmt::format("{}:{:.<{}}{}\n", name, "", name.size() < 32 ? 32 - name.size() : 0, value);
}

std::string libibmad_listing(Bytes bytes, const StructInfo& info, Keys keys, NewFields new_fields) {
  // Fields that are listed as bytes may hold a structure with keys.
  const std::vector<std::uint8_t> masked = keys == Keys::hidden ? without_secrets(bytes, info) : std::vector<std::uint8_t>();
  const Bytes shown = keys == Keys::hidden ? Bytes(masked) : bytes;
  std::string out;
  list_rank(out, shown, info, 0, keys);
  list_rank(out, shown, info, 1, keys);
  if (new_fields == NewFields::always || any_of_rank(shown, info, 2)) list_rank(out, shown, info, 2, keys);
  return out;
}

std::string libibmad_listing(Bytes bytes, const StructInfo& info, std::span<const std::string_view> fields, Keys keys) {
  std::string out;
  for (const std::string_view name : fields) {
    const FieldInfo* field = find_field(info, name);
    if (field == nullptr) throw std::logic_error(std::string(info.name) + " has no field " + std::string(name));
    list_field(out, bytes, *field, keys);
  }
  return out;
}

std::string libibmad_sl_to_vl(Bytes table) {
  std::string out = "|";
  for (unsigned sl = 0; sl < 16; ++sl) out += fmt::format("{:2}|", wire::get_bits(table, std::size_t{4} * sl, 4));
  return out + '\n';
}

std::string libibmad_vl_arbitration(Bytes table, unsigned entries) {
  const auto row = [&](std::string_view title, unsigned bit, unsigned width) {
    std::string out(title);
    for (unsigned i = 0; i < entries; ++i) out += fmt::format("0x{:<2X}|", wire::get_bits(table, std::size_t{16} * i + bit, width));
    return out + '\n';
  };
  return '\n' + row("VL    : |", 4, 4) + row("WEIGHT: |", 8, 8);
}

}  // namespace ib
