// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "iba/text.hpp"

namespace ib::report {

void Sink::value(std::string_view key, double v, const Measure& measure) {
  if (!std::isfinite(v)) return literal(key, "null", measure);
  const double size = std::fabs(v);
  if (size < 1e15 && v == std::trunc(v)) return literal(key, std::to_string(static_cast<std::int64_t>(v)), measure);  // the common case
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), v, plain ? std::chars_format::fixed : std::chars_format::scientific);
  literal(key, {text.data(), end}, measure);
}

void Sink::hex64(std::string_view key, std::uint64_t value) { text(key, fmt::format("0x{:016x}", value)); }
void Sink::value(std::string_view key, Guid v) { text(key, to_text(v)); }
void Sink::value(std::string_view key, const Gid& v) { text(key, to_text(v)); }

void Sink::null_object(std::string_view key, const std::function<void(Sink&)>& /*unknown_members*/) { null(key); }

namespace {

class NameSink final : public Sink {
 public:
  /// An element of a list has no key.
  void begin(std::string_view key, Nest nest) override {
    if (nest == Nest::array) add(key);
    const std::string prefix = prefixes_.empty() ? std::string() : prefixes_.back();
    prefixes_.push_back(key.empty() ? prefix : prefix + std::string(key) + (nest == Nest::array ? "[]." : "."));
  }
  void end(Nest /*nest*/) override { prefixes_.pop_back(); }
  void literal(std::string_view key, std::string_view /*value*/, const Measure& /*measure*/) override { add(key); }
  void text(std::string_view key, std::string_view /*value*/) override { add(key); }
  void null_object(std::string_view key, const std::function<void(Sink&)>& unknown_members) override {
    begin_object(key);
    unknown_members(*this);
    end_object();
  }
  void columns(const std::vector<std::string>& members) override {
    for (const std::string& member : members) add(member);
  }
  void unwind() override { prefixes_.clear(); }

  std::vector<std::string> names;

 private:
  void add(std::string_view key) {
    if (key.empty()) return;  // an element of a list of values
    std::string name = (prefixes_.empty() ? std::string() : prefixes_.back()) + std::string(key);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }

  std::vector<std::string> prefixes_;
};

}  // namespace

std::vector<std::string> member_names(const std::function<void(Sink&)>& visit) {
  NameSink sink;
  visit(sink);
  return std::move(sink.names);
}

}  // namespace ib::report
