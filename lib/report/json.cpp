// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/json.hpp"

#include <cassert>

#include "base/escape.hpp"

namespace ib::report {

void JsonSink::literal(std::string_view key, std::string_view value, const Measure& /*measure*/) {
  place(key);
  out_.buffer() += value;
  finish_value();
}

void JsonSink::text(std::string_view key, std::string_view value) {
  place(key);
  append_json_string(out_.buffer(), value);
  finish_value();
}

void JsonSink::unwind() {
  while (levels_.size() > 1) end(levels_.back().nest);
}

void JsonSink::begin(std::string_view key, Nest nest) {
  place(key);
  out_.buffer() += nest == Nest::object ? '{' : '[';
  levels_.push_back({nest, true});
}

void JsonSink::end(Nest nest) {
  assert(!levels_.empty() && levels_.back().nest == nest);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_.buffer() += nest == Nest::object ? '}' : ']';
  finish_value();
}

/// Writes what precedes a value: a comma, the indentation and, in an object, the key.
void JsonSink::place(std::string_view key) {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_.buffer() += ',';
  level.empty = false;
  new_line();
  if (level.nest == Nest::array) return;
  out_.buffer() += '"';  // keys are names of this program: nothing in them is escaped
  out_.buffer() += key;
  out_.buffer() += '"';
  out_.buffer() += style_ == JsonStyle::pretty ? ": " : ":";
}

void JsonSink::new_line() {
  if (style_ != JsonStyle::pretty) return;
  out_.buffer() += '\n';
  out_.buffer().append(2 * levels_.size(), ' ');
}

void JsonSink::finish_value() {
  constexpr std::size_t piece = 64 * 1024;  // bytes to collect before a write
  if (levels_.empty()) out_.buffer() += '\n';
  if (levels_.empty() || out_.buffer().size() >= piece) out_.deliver(levels_.empty());
}

void LinesSink::begin(std::string_view key, Nest nest) {
  ++depth_;
  if (depth_ == 1) {
    last_.begin_object();
    head_(last_);
    return;
  }
  if (depth_ == 2 && nest == Nest::array) {
    array_ = Array::empty;
    list_ = key;
    return;
  }
  if (depth_ == 3 && array_ == Array::empty && nest == Nest::array) begin_plain();
  if (depth_ == 3 && array_ == Array::empty) array_ = Array::lines;
  if (depth_ == 3 && array_ == Array::lines) {
    begin_line();
    key = "item";
  }
  place().begin(key, nest);
}

void LinesSink::end(Nest nest) {
  assert(depth_ > 0);
  --depth_;
  const bool is_list = depth_ == 1 && nest == Nest::array;
  if (is_list && array_ == Array::empty) last_.begin_array(list_);
  if (!is_list || array_ != Array::lines) place().end(nest);
  if (is_list) array_ = Array::none;
  if (depth_ == 0) put(last_text_);
  if (at_element() && array_ == Array::lines) end_line();
}

template <class Write>
void LinesSink::scalar(std::string_view key, Write write) {
  if (at_element() && array_ == Array::empty) begin_plain();
  if (at_element() && array_ == Array::lines) {
    begin_line();
    write(*line_, "item");
    end_line();
    return;
  }
  write(place(), key);
}

void LinesSink::literal(std::string_view key, std::string_view value, const Measure& measure) {
  scalar(key, [&](Sink& to, std::string_view k) { to.literal(k, value, measure); });
}
void LinesSink::text(std::string_view key, std::string_view value) {
  scalar(key, [&](Sink& to, std::string_view k) { to.text(k, value); });
}

void LinesSink::unwind() {
  line_.reset();
  line_text_.clear();
  last_.unwind();
  array_ = Array::none;
  if (depth_ > 1) depth_ = 1;
}

void LinesSink::begin_plain() {
  array_ = Array::plain;
  last_.begin_array(list_);
}

void LinesSink::begin_line() {
  line_.emplace(line_text_, JsonStyle::lines);
  line_->begin_object();
  head_(*line_);
  line_->text("list", list_);
}

void LinesSink::end_line() {
  line_->end_object();
  line_.reset();
  put(line_text_);
}

/// Writes a whole line and empties `text`.
void LinesSink::put(std::string& text) {
  out_.buffer() += text;
  text.clear();
  out_.deliver();
}

}  // namespace ib::report
