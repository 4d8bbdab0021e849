// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/planned_sets.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "mad/packet.hpp"
#include "mad/rpc_names.hpp"
#include "report/structure.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {
namespace {

/// "PerformanceSet(PMPortCounters)".
std::string request_name(const subnet::PlannedSet& set) {
  const mad::HeaderView header(set.mad);
  const std::string_view known = mad::rpc_name(header.mgmt_class(), header.method());
  const StructInfo* info = set.attribute();
  return fmt::format("{}({})",
                     known.empty() ? fmt::format("method 0x{:02x} of class 0x{:02x}", header.method(), header.mgmt_class()) : known,
                     info != nullptr ? std::string(info->iba_name) : fmt::format("0x{:04x}", header.attribute_id()));
}

/// Adds " NAME=VALUE" for each field that is not zero.
void add_fields(std::string& text, Bytes bytes, const StructInfo& info, Keys keys, const std::string& before = {}) {
  for (const FieldInfo& field : info.fields) {
    for (std::uint32_t at = 0; !field.reserved && at < field.count; ++at) {
      const std::string name = before + std::string(field.iba_name) + (field.count > 1 ? fmt::format("[{}]", at) : "");
      if (const StructInfo* nested = field.structure) {
        add_fields(text, field_bytes(bytes, field, at), *nested, keys, name + '.');
        continue;
      }
      const bool aligned = field.bits % 8 == 0 && field.bit_offset % 8 == 0;
      if (aligned ? is_zero(field_bytes(bytes, field, at)) : read_number(bytes, field, at) == 0) continue;
      const bool hides = keys == Keys::hidden && holds_secret(bytes, field);
      text += fmt::format(" {}={}", name, hides ? "(not displayed)" : field_text(bytes, field, at));
    }
  }
}

struct PlannedSets final : Report {
  PlannedSets(std::vector<subnet::PlannedSet> planned, Keys shown) : sets(std::move(planned)), keys(shown) {}

  void visit(report::Sink& sink) const override {
    sink.value("dry_run", true);
    sink.objects("sets", sets, [&](const subnet::PlannedSet& set) {
      sink.value("request", request_name(set));
      path::visit(sink, "path", set.path);
      sink.value_or_null("node_guid", set.node_guid != Guid{}, set.node_guid);
      sink.text_or_null("node_description", set.description);
      sink.value("modifier", mad::HeaderView(set.mad).attribute_modifier());
      if (const StructInfo* attribute = set.attribute()) return report::visit_attribute(sink, set.data(), *attribute, keys);
      sink.null("attribute");
      sink.null("data");
    });
  }

  void text(TextOut& out) const override {
    for (const subnet::PlannedSet& set : sets) {
      std::string fields;
      if (const StructInfo* attribute = set.attribute()) add_fields(fields, set.data(), *attribute, keys);
      std::string who = set.node_guid == Guid{} ? std::string() : ' ' + to_text(set.node_guid);
      if (!set.description.empty()) who += ' ' + in_quotes(set.description);
      out.print("Would send {} {} {}{} by {}:{}\n", request_name(set), mad::HeaderView(set.mad).attribute_modifier(),
                set.is_elsewhere ? "for" : "to", who, path::to_text(set.path), fields);
    }
  }

  std::vector<subnet::PlannedSet> sets;
  Keys keys;
};

}  // namespace

void emit_planned(Emit& emit, std::vector<subnet::PlannedSet> sets, Keys keys) { emit(PlannedSets(std::move(sets), keys)); }

}  // namespace ib::tools
