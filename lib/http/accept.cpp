// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "http/accept.hpp"

#include <algorithm>
#include <charconv>

#include "base/letter_case.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"

namespace ib::http {
namespace {

constexpr unsigned whole = 1000;

unsigned weight_in(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ";")) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || to_lower(trim(parameter.substr(0, equals))) != "q") continue;
    const std::string_view digits = trim(parameter.substr(equals + 1));
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return code == std::errc() && value >= 0 && value <= 1 ? static_cast<unsigned>(value * whole + 0.5) : whole;
  }
  return whole;
}

}  // namespace

std::vector<Acceptable> acceptable(std::string_view field) {
  std::vector<Acceptable> members;
  for (const std::string_view member : split(field)) {
    const std::size_t semicolon = std::min(member.find(';'), member.size());
    std::string name = to_lower(trim(member.substr(0, semicolon)));
    if (!name.empty()) members.push_back({std::move(name), weight_in(member.substr(semicolon))});
  }
  return members;
}

std::optional<unsigned> weight_of(const std::vector<Acceptable>& members, std::string_view name) {
  std::optional<unsigned> greatest;
  for (const Acceptable& member : members) {
    if (member.name == name) greatest = std::max(greatest.value_or(0), member.weight);
  }
  return greatest;
}

bool accepts_gzip(std::string_view accepted) {
  const std::vector<Acceptable> members = acceptable(accepted);
  std::optional<unsigned> gzip = weight_of(members, "gzip");
  if (!gzip) gzip = weight_of(members, "x-gzip");
  if (!gzip) gzip = weight_of(members, "*");
  return gzip.value_or(0) != 0 && *gzip >= weight_of(members, "identity").value_or(0);
}

}  // namespace ib::http
