// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/attribute_text.hpp"

#include <algorithm>
#include <array>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "out/structure.hpp"

namespace ib::tools {
namespace {

constexpr std::array<std::string_view, 1> key_fields{"m_key"};

}  // namespace

AttributeText::AttributeText(const CommonOptions& options, const StructInfo& structure, Bytes payload)
    : info(&structure),
      bytes(payload.begin(), payload.begin() + std::min<std::ptrdiff_t>(std::ssize(payload), structure.bytes)),
      words(options.error_level() >= 2),
      int_names(options.int_names),
      show_keys(options.show_keys) {}

std::span<const std::string_view> AttributeText::hidden() const {
  const FieldInfo* key = show_keys ? nullptr : find_field(*info, key_fields[0]);
  if (key == nullptr || read_number(bytes, *key) == 0) return {};
  return key_fields;
}

void AttributeText::visit(out::Sink& sink) const { out::visit_structure(sink, bytes, *info, hidden()); }

void AttributeText::text(TextOut& out, const DottedOptions& listing) const {
  std::vector<std::uint8_t> shown = bytes;
  if (!hidden().empty()) {
    const FieldInfo& key = *find_field(*info, key_fields[0]);
    std::fill_n(shown.begin() + key.bit_offset / 8, key.bits / 8, std::uint8_t{0});
  }
  if (words) {
    out.print("{}\n{}", info->iba_name, dump_words(shown, *info));
  } else {
    out.write(dotted(shown, *info, int_names ? DottedOptions{} : listing));
  }
  if (!hidden().empty()) out.write("# The M_Key is set but not displayed: -K shows it\n");
}

}  // namespace ib::tools
