// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/readings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "counters/counters.hpp"
#include "iba-gen/pm.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::perfquery {
namespace {

constexpr DottedOptions perfquery_listing{.names = NameStyle::perfquery, .colon = true, .element_lines = true};

}  // namespace

PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& info) {
  std::vector<std::uint8_t> total = ports.front().bytes;
  for (const FieldInfo& field : info.fields) {
    if (counters::is_selector(field)) continue;
    for (std::uint32_t i = 0; i < std::max<std::uint32_t>(field.count, 1); ++i) {
      const std::uint32_t at = field.bit_offset + i * field.bits;
      const std::uint64_t most = field.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.bits) - 1;
      std::uint64_t value = 0;
      for (const PortReading& port : ports) {
        const std::uint64_t one = wire::get_bits(port.bytes, at, field.bits);
        value = one > most - value ? most : value + one;
      }
      wire::set_bits(total, at, field.bits, value);
    }
  }
  const FieldInfo* select = find_field(info, "port_select");
  wire::set_bits(total, select->bit_offset, select->bits, subnet::all_ports);
  return {subnet::all_ports, std::move(total), std::ranges::max_element(ports, {}, &PortReading::time)->time};
}

void CountersReport::visit(report::Sink& sink) const {
  path::visit(sink, "path", node.path);
  sink.objects("ports", ports, [&](const PortReading& at) {
    sink.value("port_num", at.port);
    report::visit_attribute(sink, at.bytes, info, options.keys);
  });
}

void CountersReport::text(TextOut& out) const {
  for (const PortReading& at : ports) {
    out.print("# Port counters: {} port {}\n", place(), at.port);
    AttributeText(options, info, at.bytes).text(out, perfquery_listing);
  }
}

void CountersReport::diags_text(TextOut& out) const {
  for (const PortReading& at : ports) {
    out.print("# {}: {} port {}{}\n", title(), node.name, at.port, capabilities());
    out.write(set.is_extended() ? libibmad_listing(at.bytes, info, extended_fields()) : libibmad_listing(at.bytes, info));
  }
}

std::string CountersReport::place() const {
  return fmt::format("Lid {}{}", node.path.ib().dlid.value, gid ? fmt::format(" ({})", to_text(*gid)) : "");
}

/// What the PMA says that it counts of PortCountersExtended. CounterSelect2 heads the additional part, as infiniband-diags has it.
std::vector<std::string_view> CountersReport::extended_fields() const {
  constexpr std::uint32_t additional = pm::capability_mask2::is_additional_port_counters_extended_supported;
  const bool has_additional = (support.capability_mask2 & additional) != 0;
  const bool has_ietf = (support.capability_mask & pm::capability_mask::is_extended_width_supported) != 0;
  const auto infos = counters::counter_infos();
  std::vector<std::string_view> names, of_additional{"counter_select2"};
  for (const FieldInfo& field : info.fields) {
    if (field.reserved || field.name == "counter_select2") continue;
    const auto counter = std::ranges::find(infos, field.name, &counters::CounterInfo::name);
    const bool is_counter = counter != infos.end();
    if (is_counter && counter->ietf && !has_ietf) continue;
    (is_counter && counter->additional ? of_additional : names).push_back(field.name);
  }
  if (has_additional) names.insert(names.end(), of_additional.begin(), of_additional.end());
  return names;
}

std::string CountersReport::title() const {
  if (set.is_extended()) return "Port extended counters";
  if (set.is_basic()) return "Port counters";
  if (set.is_sampling()) return std::string(set.title);
  const bool rs_fec = &info == &pm::PortExtendedSpeedsCountersRsFec::info();
  return fmt::format("{}{} counters", set.title, rs_fec ? " with RS-FEC Active" : "");
}

std::string CountersReport::capabilities() const {
  if (!set.is_basic()) return "";
  const std::string second = set.is_extended() ? fmt::format(" CapMask2: 0x{:07X}", support.capability_mask2) : "";
  return fmt::format(" (CapMask: 0x{:02X}{})", support.capability_mask, second);
}

}  // namespace ib::tools::perfquery
