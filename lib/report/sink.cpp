// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/sink.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "iba/text.hpp"

namespace ib::report {

std::string hex64_text(std::uint64_t value) { return fmt::format("0x{:016x}", value); }

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

void Sink::value(std::string_view key, Guid v) { text(key, to_text(v)); }
void Sink::value(std::string_view key, const Gid& v) { text(key, to_text(v)); }

void Sink::null_object(std::string_view key, const std::function<void(Sink&)>& /*unknown_members*/) { null(key); }

}  // namespace ib::report
