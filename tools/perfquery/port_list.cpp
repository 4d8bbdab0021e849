// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/port_list.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools::perfquery {
namespace {

constexpr std::size_t most_ports = 256;

std::uint8_t port_number(std::string_view text) { return parse_within<std::uint8_t>(text, "PORT", {0, 255}); }

}  // namespace

PortNumbers read_ports(std::string_view text) {
  PortNumbers ports;
  for (const std::string_view part : split(text)) {
    const std::size_t dash = part.find('-', 1);
    const int first = port_number(part.substr(0, dash));
    const int last = dash < part.size() ? port_number(part.substr(dash + 1)) : first;
    if (last < first) throw UsageError(fmt::format("the range {} goes down", in_quotes(part)));
    for (int port = first; port <= last; ++port) ports.push_back(port);
    if (ports.size() > most_ports) throw UsageError(fmt::format("these are more than {} ports", most_ports));
  }
  return ports;
}

PortNumbers read_diags_ports(const std::string& text) {
  PortNumbers ports;
  if (text.find(',') != std::string::npos) {
    for (const std::string_view part : split(text)) {
      // strtok's habit: between two commas there is no number.
      if (!part.empty() && ports.size() < most_ports) ports.push_back(static_cast<std::int32_t>(c_number(std::string(part))));
    }
    return ports;
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return {static_cast<std::int32_t>(c_number(text))};
  const auto first = static_cast<std::int32_t>(c_number(text.substr(0, dash)));
  const auto last = static_cast<std::int32_t>(c_number(text.substr(dash + 1)));
  if (first >= last) throw DiagsFailure("max port must be greater than min port in range");
  for (std::int32_t port = first; port <= last && ports.size() < most_ports; ++port) ports.push_back(port);
  return ports;
}

}  // namespace ib::tools::perfquery
