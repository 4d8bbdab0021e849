// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/json.hpp"
#include "report/table.hpp"
#include "tools/frame/diags_words.hpp"

namespace ib::tools {
namespace {

/// The stack of messages in one line, the outermost first.
std::string in_one_line(const Error& error) {
  std::string text;
  for (const std::string& line : error.lines(0)) text += (text.empty() ? "" : ": ") + (line.starts_with('+') ? line.substr(1) : line);
  return text;
}

constexpr std::array<std::string_view, 5> names{"text", "json", "jsonl", "csv", "tsv"};  // by Format

}  // namespace

void Emit::heading(std::string_view line) {
  if (json() || dialect_ == Dialect::diags) return;
  text_.write(line);
  text_.write("\n");
}

void Emit::raise(Exit status) {
  if (status_ == Exit::ok || (status_ == Exit::incomplete && status == Exit::findings)) status_ = status;
}

std::vector<std::string> format_names() { return {names.begin(), names.end()}; }

std::optional<Format> format_named(std::string_view name) {
  const auto* found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Format>(found - names.begin());
}

void Emit::set_table_rows(std::string_view rows, bool of_each) {
  if (is_table(format_) && rows.empty()) {
    const std::string_view format = names[static_cast<std::size_t>(format_)];
    throw UsageError(fmt::format("--format {}: the output of {} here is not a table: text, json or jsonl", format, command_));
  }
  table_rows_ = of_each ? fmt::format("targets.{}", rows) : rows;
}

void Emit::show_table(const report::TableChoice& choice, std::string_view usual, std::size_t width) {
  choice_ = &choice;
  usual_ = usual;
  width_ = width;
}

void Emit::begin_target(std::string_view heading, std::string_view name) {
  if (json()) {
    sink().begin_object();
    sink().value("target", name);
    return;
  }
  text_.print("{}{}:\n", std::exchange(has_target_, true) ? "\n" : "", heading);
}

void Emit::end_target(const Error* failure) {
  if (!json()) return;
  if (failure != nullptr) sink().value("error", in_one_line(*failure));
  sink().end_object();
}

report::Sink& Emit::sink() {
  if (sink_) return *sink_;
  const auto head = [command = command_](report::Sink& sink) {
    command.empty() ? sink.null("command") : sink.value("command", command);
    sink.value("schema", json_schema);
  };
  if (choice_ != nullptr || is_table(format_)) {
    const auto style = format_ == Format::csv   ? report::TableStyle::csv
                       : format_ == Format::tsv ? report::TableStyle::tsv
                                                : report::TableStyle::aligned;
    sink_ =
        std::make_unique<report::TableSink>(TextOut(file_, log_), style, table_rows_, choice_ != nullptr ? *choice_ : report::TableChoice{},
                                            usual_, choice_ != nullptr ? width_ : report::unlimited_width);
  } else if (format_ == Format::lines) {
    sink_ = std::make_unique<report::LinesSink>(TextOut(file_, log_), head);
  } else {
    sink_ = std::make_unique<report::JsonSink>(TextOut(file_, log_), report::JsonStyle::pretty);
  }
  sink_->begin_object();
  if (format_ == Format::json) head(*sink_);
  return *sink_;
}

bool Emit::withdraw() {
  if (!text_.withdraw()) return false;
  if (sink_ && !sink_->withdraw()) return false;
  sink_.reset();
  return true;
}

void Emit::so_far(const Report& report) {
  if (dialect_ == Dialect::diags) report.diags_text(text_);
}

void Emit::operator()(const Report& report) {
  if (dialect_ == Dialect::diags) return report.diags_text(text_);
  if (json()) {
    report.visit(sink());
  } else {
    report.text(text_);
  }
  raise(report.status());
}

void Emit::end(Exit status) {
  ended_ = true;
  sink().value("status", static_cast<int>(status));
  sink().end_object();
}

void Emit::finish() {
  if (json()) end(status_);
  flush();
}

void Emit::fail(const Error& error) {
  if (choice_ != nullptr) {
    sink_.reset();  // a part of a table is not shown
  } else if (json() && !ended_) {
    try {
      sink().unwind();
      sink().value("error", in_one_line(error));
      end(error.exit_status());
    } catch (const SysError&) {
      // A full disk: the status says so.
    }
  }
  text_.push();
}

}  // namespace ib::tools
