// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A report on its way out: as its own text, or as one JSON document (or several, one a line) that says which command
// it comes from.
#include "out/json.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {
namespace {

constexpr std::uint64_t json_schema = 1;  // raised when a key changes its meaning or goes

}  // namespace

void Report::visit_lines(const std::function<void(const std::function<void(out::Sink&)>&)>& line) const {
  line([this](out::Sink& sink) { visit(sink); });
}

void Emit::so_far(const Report& report) {
  if (dialect_ == Dialect::diags) report.diags_text(text_);
}

void Emit::operator()(const Report& report) {
  if (dialect_ == Dialect::diags) return report.diags_text(text_);
  switch (json_) {
    case Json::off:
      report.text(text_);
      break;
    case Json::document:
      document([&](out::Sink& sink) { report.visit(sink); });
      break;
    case Json::lines:
      report.visit_lines([&](const std::function<void(out::Sink&)>& members) { document(members); });
      break;
  }
  raise(report.status());
}

void Emit::document(const std::function<void(out::Sink&)>& members) {
  out::JsonSink sink(file_, json_ == Json::lines ? out::JsonStyle::lines : out::JsonStyle::pretty);
  sink.begin_object();
  sink.value("command", command_);
  sink.value("schema", json_schema);
  members(sink);
  sink.end_object();
}

}  // namespace ib::tools
