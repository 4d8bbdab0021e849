// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/exposition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.hpp"
#include "base/parse.hpp"

namespace ib::metrics {
namespace {

constexpr std::string_view total = "_total";
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
}

void append_label_value(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    const char first = text.front();
    if (first == '\\' || first == '"') {
      (out += '\\') += first;
    } else if (first == '\n') {
      out += "\\n";
    } else if (!next.valid || (is_hostile(next.code) && first != '\t')) {
      out += replacement;
    } else {
      out += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
}

bool is_label_name(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || name.starts_with("__")) return false;
  return std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string constant_labels(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += name + "=\"";
    append_label_value(text, value);
    text += "\",";
  }
  return text;
}

void Sample::begin_label(std::string_view name) {
  out_ += name;
  out_ += "=\"";
}

Sample& Sample::label(std::string_view name, std::string_view text) {
  begin_label(name);
  append_label_value(out_, text);
  out_ += "\",";
  return *this;
}

Sample& Sample::label(std::string_view name, Guid guid) {
  begin_label(name);
  fmt::format_to(std::back_inserter(out_), "0x{:016x}\",", guid.value);
  return *this;
}

Sample& Sample::label(std::string_view name, unsigned number) {
  begin_label(name);
  const fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
  out_ += "\",";
  return *this;
}

void Sample::value_text(std::string_view text) {
  // Each label ends with a comma. After the last one stands the brace instead; a sample without labels has no braces.
  const bool has_labels = out_.back() != '{';
  out_.back() = has_labels ? '}' : ' ';
  fmt::format_to(std::back_inserter(out_), "{}{}\n", has_labels ? " " : "", text);
}

void Sample::value(double value) { value_text(fmt::format("{}", value)); }

void Exposition::begin(const FamilyHead& head) {
  head_ = &head;
  has_comments_ = false;
}

/// OpenMetrics names a family of counters without the ending of its samples.
void Exposition::write_comments() {
  std::string_view name = head_->name;
  const bool is_counter = head_->measure.kind == report::Measure::Kind::counter;
  if (format_ == Format::openmetrics && is_counter && name.ends_with(total)) name.remove_suffix(total.size());
  const std::string_view type = report::name(head_->measure.kind), unit = head_->measure.unit;
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, head_->help, name, type);
  const bool has_unit = !unit.empty() && name.ends_with(unit) && name.substr(0, name.size() - unit.size()).ends_with('_');
  if (format_ == Format::openmetrics && has_unit) fmt::format_to(std::back_inserter(out_), "# UNIT {} {}\n", name, unit);
  has_comments_ = true;
}

Sample Exposition::sample() {
  if (!has_comments_) write_comments();
  out_ += head_->name;
  out_ += '{';
  out_ += labels_;
  return Sample(out_);
}

void Exposition::end() {
  if (format_ == Format::openmetrics) out_ += "# EOF\n";
}

}  // namespace ib::metrics
