// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text goes through one growing buffer; standard C's FILE below it only passes the pieces on.
#include "tools/frame/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "report/json.hpp"
#include "report/table.hpp"
#include "tools/frame/diags_words.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t drain_at = 1U << 16;

/// The stack of messages in one line, the outermost first.
std::string in_one_line(const Error& error) {
  std::string text;
  for (const std::string& line : error.lines(0)) text += (text.empty() ? "" : ": ") + (line.starts_with('+') ? line.substr(1) : line);
  return text;
}

constexpr std::array<std::string_view, 5> names{"text", "json", "jsonl", "csv", "tsv"};  // by Format

}  // namespace

void TextOut::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= drain_at) flush();
}

void TextOut::vprint(fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(buffer_), format, args);
  if (buffer_.size() >= drain_at) flush();
}

void TextOut::flush() {
  if (buffer_.empty()) return;
  was_flushed_ = true;
  if (log_ != nullptr) log_->about_to_write();
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size() && failure_ == 0) failure_ = errno;
  buffer_.clear();
}

bool TextOut::withdraw() {
  if (was_flushed_) return false;
  buffer_.clear();
  return true;
}

void TextOut::push() {
  flush();
  if (std::fflush(file_) != 0 && failure_ == 0) failure_ = errno;
}

void TextOut::finish(std::string_view name) {
  push();
  if (failure_ != 0 && failure_ != EPIPE) throw SysError(failure_, "write", name);
}

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

void Emit::begin_targets() {
  if (json()) sink().begin_array("targets");
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

void Emit::end_targets() {
  if (json()) sink().end_array();
}

report::Sink& Emit::sink() {
  if (log_ != nullptr) log_->about_to_write();
  if (sink_) return *sink_;
  const auto head = [command = command_](report::Sink& sink) {
    command.empty() ? sink.null("command") : sink.value("command", command);
    sink.value("schema", json_schema);
  };
  if (is_table(format_)) {
    const auto style = format_ == Format::csv ? report::TableStyle::csv : report::TableStyle::tsv;
    sink_ = std::make_unique<report::TableSink>(file_, style, table_rows_);
  } else if (format_ == Format::lines) {
    sink_ = std::make_unique<report::LinesSink>(file_, head);
  } else {
    sink_ = std::make_unique<report::JsonSink>(file_, report::JsonStyle::pretty);
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
  if (json() && !ended_) {
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
