// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/json.hpp"

#include <cassert>

#include "base/escape.hpp"

namespace ib::report {
namespace {

constexpr std::size_t piece = 64 * 1024;  // bytes to collect before a write

}  // namespace

void JsonSink::begin_object(std::string_view key) { begin(key, true); }
void JsonSink::end_object() { end(true); }
void JsonSink::begin_array(std::string_view key) { begin(key, false); }
void JsonSink::end_array() { end(false); }

void JsonSink::literal(std::string_view key, std::string_view value, const Measure& /*measure*/) {
  place(key);
  out_.text() += value;
  finish_value();
}

void JsonSink::text(std::string_view key, std::string_view value) {
  place(key);
  append_json_string(out_.text(), value);
  finish_value();
}

void JsonSink::unwind() {
  while (levels_.size() > 1) end(levels_.back().object);
}

void JsonSink::begin(std::string_view key, bool object) {
  place(key);
  out_.text() += object ? '{' : '[';
  levels_.push_back({object, true});
}

void JsonSink::end(bool object) {
  assert(!levels_.empty() && levels_.back().object == object);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_.text() += object ? '}' : ']';
  finish_value();
}

/// Writes what precedes a value: a comma, the indentation and, in an object, the key.
void JsonSink::place(std::string_view key) {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_.text() += ',';
  level.empty = false;
  new_line();
  if (!level.object) return;
  out_.text() += '"';  // keys are names of this program: nothing in them is escaped
  out_.text() += key;
  out_.text() += '"';
  out_.text() += style_ == JsonStyle::pretty ? ": " : ":";
}

void JsonSink::new_line() {
  if (style_ != JsonStyle::pretty) return;
  out_.text() += '\n';
  out_.text().append(2 * levels_.size(), ' ');
}

void JsonSink::finish_value() {
  if (levels_.empty()) out_.text() += '\n';
  if (levels_.empty() || out_.text().size() >= piece) out_.flush(levels_.empty());
}

}  // namespace ib::report
