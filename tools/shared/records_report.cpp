// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/records_report.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "out/structure.hpp"
#include "tools/shared/secrets.hpp"

namespace ib::tools {

void RecordsReport::visit(out::Sink& sink) const {
  const StructInfo& info = *records.type;
  sink.value("record", info.iba_name);
  sink.begin_object("match");
  for (const sa::Pattern::Match& match : pattern.matches()) {
    if (match.secret && keys == Keys::hidden) {
      sink.null(match.member);
    } else {
      sink.value(match.member, match.text);
    }
  }
  sink.end_object();
  sink.value("complete", !records.cut);
  sink.begin_array("records");
  for (const Bytes record : records.bytes) {
    sink.begin_object();
    out::visit_structure(sink, record, info, keys);
    sink.end_object();
  }
  sink.end_array();
}

void RecordsReport::visit_lines(const std::function<void(const std::function<void(out::Sink&)>&)>& line) const {
  const StructInfo& info = *records.type;
  for (const Bytes record : records.bytes) {
    line([&](out::Sink& sink) {
      sink.value("record", info.iba_name);
      sink.begin_object("data");
      out::visit_structure(sink, record, info, keys);
      sink.end_object();
    });
  }
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

void tell_if_cut(const Session& session, const sa::Records& records) {
  if (records.in_parts) session.debug(1, fmt::format("The {} table came back cut: asked for it in parts.", records.type->iba_name));
  if (records.cut) warn_cut(records.bytes.size());
}

void warn_cut(std::size_t arrived) {
  log::warning(arrived == 1 ? "the answer of the SA was cut on its way: only the first record arrived"
                            : fmt::format("the answer of the SA was cut on its way: only the first {} records arrived", arrived));
}

}  // namespace ib::tools
