// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/records_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/log.hpp"
#include "base/split.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "report/sink.hpp"
#include "report/structure.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools {
namespace {

/// The heading of a record of this kind: `NodeRecord` or `SANodeRecord`.
std::string_view record_title(const StructInfo& info, RecordNames names) {
  return names == RecordNames::internal || info.saquery_name.empty() ? info.iba_name : info.saquery_name;
}

/// "node_info.node_type", the name that a member has in JSON, of `nodeInfo.nodeType`.
std::string json_name(const StructInfo& form, std::string_view member) {
  std::string name;
  const StructInfo* within = &form;
  for (const std::string_view part : split(member, ".")) {
    const std::size_t index = std::min(part.find('['), part.size());
    const FieldInfo* field = within != nullptr ? find_field(*within, part.substr(0, index)) : nullptr;
    if (field == nullptr) return std::string(member);
    add_part(name, fmt::format("{}{}", field->name, part.substr(index)), ".");
    within = field->structure;
  }
  return name;
}

}  // namespace

void visit_records(report::Sink& sink, std::string_view key, const sa::RecordBuffer& records, const StructInfo& type, Keys keys) {
  sink.begin_array(key);
  report::announce(sink, [&](report::Sink& to) { report::visit_fields(to, {}, std::vector<std::uint8_t>(type.bytes), type, keys); });
  for (const Bytes record : records) report::visit_fields(sink, {}, record, type, keys);
  sink.end_array();
}

void RecordsReport::visit(report::Sink& sink) const {
  visit_query(sink);
  visit_records(sink, "records");
}

void RecordsReport::visit_query(report::Sink& sink) const {
  sink.value("attribute", records.type->iba_name);
  sink.begin_object("match");
  for (const sa::Pattern::Match& match : pattern.matches()) {
    const std::string name = json_name(pattern.form(), match.member);
    if (match.secret && keys == Keys::hidden) {
      sink.null(name);
    } else {
      report::visit_field(sink, name, pattern.bytes(), *find_path(pattern.form(), match.member));
    }
  }
  sink.end_object();
  sink.value("complete", !records.torn);
}

void RecordsReport::visit_records(report::Sink& sink, std::string_view key) const {
  tools::visit_records(sink, key, records.bytes, *records.type, keys);
}

void RecordsReport::text(TextOut& out) const {
  const StructInfo& info = *records.type;
  for (const Bytes record : records.bytes) {
    out.print("{}{}:\n", record_title(info, names), single ? "" : " dump");
    out.write(record_text(record, info, names, keys));
    const std::string_view note = secrets_note(record, info, keys);
    if (!note.empty()) out.print("\t\t{}", note);
  }
  if (none) out.write("No Records.\n");
}

std::string torn_text(std::size_t arrived) {
  const std::string what = arrived == 0   ? "no whole record"
                           : arrived == 1 ? "only the first record"
                                          : fmt::format("only the first {} records", arrived);
  return fmt::format("the answer of the SA was cut on its way: {} arrived", what);
}

void warn_torn(Log& log, std::size_t arrived) { log.warning(torn_text(arrived)); }

}  // namespace ib::tools
