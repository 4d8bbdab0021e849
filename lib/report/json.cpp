// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/json.hpp"

#include <array>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"

namespace ib::report {

namespace {

constexpr std::size_t piece = 64 * 1024;  // bytes to collect before a write

template <class T>
std::string_view number_text(std::array<char, 32>& buffer, T value) {
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

}  // namespace

std::string real_text(double value) {
  if (!std::isfinite(value)) return "null";
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  std::array<char, 64> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {buffer.data(), result.ptr};
}

JsonSink::JsonSink(std::string& out, JsonStyle style) : out_(out), style_(style) {}

JsonSink::JsonSink(std::FILE* file, JsonStyle style) : out_(own_), file_(file), style_(style) {}

JsonSink::~JsonSink() {
  // The rest belongs to a document that an error cut short. It is written, but a destructor must not throw.
  if (file_ != nullptr && !out_.empty()) static_cast<void>(std::fwrite(out_.data(), 1, out_.size(), file_));
}

bool JsonSink::withdraw() {
  if (file_ == nullptr || written_) return false;
  out_.clear();
  levels_.clear();
  return true;
}

void JsonSink::begin_object(std::string_view key) { begin(key, true); }
void JsonSink::end_object() { end(true); }
void JsonSink::begin_array(std::string_view key) { begin(key, false); }
void JsonSink::end_array() { end(false); }

void JsonSink::null(std::string_view key) { scalar(key, "null"); }
void JsonSink::boolean(std::string_view key, bool value) { scalar(key, value ? "true" : "false"); }

void JsonSink::integer(std::string_view key, std::int64_t value, const Measure& /*measure*/) {
  std::array<char, 32> buffer{};
  scalar(key, number_text(buffer, value));
}

void JsonSink::unsigned_integer(std::string_view key, std::uint64_t value, const Measure& /*measure*/) {
  std::array<char, 32> buffer{};
  scalar(key, number_text(buffer, value));
}

void JsonSink::real(std::string_view key, double value, const Measure& /*measure*/) { scalar(key, real_text(value)); }

void JsonSink::text(std::string_view key, std::string_view value) {
  place(key);
  append_json_string(out_, value);
  finish_value();
}

void JsonSink::guid(std::string_view key, Guid value) { text(key, to_text(value)); }
void JsonSink::gid(std::string_view key, const Gid& value) { text(key, to_text(value)); }

void JsonSink::unwind() {
  while (levels_.size() > 1) end(levels_.back().object);
}

void JsonSink::scalar(std::string_view key, std::string_view literal) {
  place(key);
  out_ += literal;
  finish_value();
}

void JsonSink::begin(std::string_view key, bool object) {
  place(key);
  out_ += object ? '{' : '[';
  levels_.push_back({object, true});
}

void JsonSink::end(bool object) {
  assert(!levels_.empty() && levels_.back().object == object);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_ += object ? '}' : ']';
  finish_value();
}

/// Writes what precedes a value: a comma, the indentation and, in an object, the key.
void JsonSink::place(std::string_view key) {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += ',';
  level.empty = false;
  new_line();
  if (!level.object) return;
  append_json_string(out_, key);
  out_ += style_ == JsonStyle::pretty ? ": " : ":";
}

void JsonSink::new_line() {
  if (style_ != JsonStyle::pretty) return;
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonSink::finish_value() {
  if (levels_.empty()) out_ += '\n';
  if (file_ != nullptr && (levels_.empty() || out_.size() >= piece)) flush();
}

void JsonSink::flush() {
  written_ = true;
  const bool written = std::fwrite(out_.data(), 1, out_.size(), file_) == out_.size() && (!levels_.empty() || std::fflush(file_) == 0);
  const int code = errno;
  out_.clear();
  if (!written) throw SysError(code, "write", "output");
}

}  // namespace ib::report
