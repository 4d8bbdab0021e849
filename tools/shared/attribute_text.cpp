// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/attribute_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/wire.hpp"
#include "report/structure.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools {

AttributeText::AttributeText(const CommonOptions& options, const StructInfo& structure, Bytes payload)
    : info(&layout_of(structure, payload)),
      bytes(payload.begin(), payload.begin() + std::min<std::ptrdiff_t>(std::ssize(payload), info->bytes)),
      words(options.error_level() >= 2),
      int_names(options.int_names),
      keys(options.keys) {}

void AttributeText::visit_attribute(report::Sink& sink) const { report::visit_attribute(sink, bytes, *info, keys); }

void AttributeText::text(TextOut& out, const DottedOptions& listing) const {
  DottedOptions style = int_names ? DottedOptions{.indent = listing.indent} : listing;
  style.keys = keys;
  if (words) {
    std::string text = fmt::format("{}\n{}", info->iba_name, dump_words(bytes, *info, keys));
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      text.insert(at, listing.indent);
      at += listing.indent.size();
    }
    out.write(text);
  } else {
    out.write(dotted(bytes, *info, style));
  }
  const std::string_view note = secrets_note(bytes, *info, keys);
  if (!note.empty()) out.print("{}{}", listing.indent, note);
}

void visit_records(report::Sink& sink, std::string_view key, const sa::RecordBuffer& records, const StructInfo& type, Keys keys) {
  sink.begin_array(key);
  report::announce(sink, [&](report::Sink& to) { report::visit_fields(to, {}, std::vector<std::uint8_t>(type.bytes), type, keys); });
  for (const Bytes record : records) report::visit_fields(sink, {}, record, type, keys);
  sink.end_array();
}

std::string torn_text(std::size_t arrived) {
  const std::string what = arrived == 0   ? "no whole record"
                           : arrived == 1 ? "only the first record"
                                          : fmt::format("only the first {} records", arrived);
  return fmt::format("the answer of the SA was cut on its way: {} arrived", what);
}

void warn_of_link_width(const Manners& manners, Bytes port_info) {
  const unsigned width = wire::unpack_short<smp::PortInfo>(port_info).link_width_active;
  if (libibmad_text(LibibmadText::linkwidth, width, 8).starts_with("undefined"))
    manners.remark("mad_dump_linkwidth", fmt::format("bad width {}", width));
}

namespace {

template <class State>
std::string text_of(unsigned state) {
  const std::string_view text = state == 0 ? "" : smp::to_text(static_cast<State>(state));
  return text.empty() ? fmt::format("?? {}", state) : std::string(text);
}

}  // namespace

std::string link_state_text(unsigned state) { return text_of<smp::PortState>(state); }
std::string phys_link_state_text(unsigned state) { return text_of<smp::PortPhysicalState>(state); }

}  // namespace ib::tools
