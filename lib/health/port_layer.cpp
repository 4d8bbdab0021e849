// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/escape.hpp"
#include "health/checks/common.hpp"
#include "health/finding_text.hpp"
#include "phy/values.hpp"

namespace ib::health {
namespace {

using phy::Part;
using phy::PortRow;
using subnet::PortIndex;

constexpr std::size_t most_ports = 4;  // of a finding

std::string trouble_phrase(const PortRow& row) {
  if (!row.has(Part::troubleshooting) || !phy::is_trouble(row.trouble)) return {};
  const std::string_view known = phy::trouble_text(row.trouble);
  if (!known.empty()) return fmt::format("{} (code {})", known, row.trouble);
  const std::string device = row.trouble_text.empty() ? std::string() : ": " + in_quotes(row.trouble_text);
  return fmt::format("trouble code {}{}", row.trouble, device);
}

std::string last_down_phrase(const PortRow& row) {
  if (!row.has(Part::link_down) || row.down_reason == reg::DownReason::none || row.down_reason == reg::DownReason::unknown) return {};
  const std::string_view known = to_text(row.down_reason);
  const std::string reason = known.empty() ? fmt::format("code {}", static_cast<unsigned>(row.down_reason)) : std::string(known);
  const bool has_initiator = row.down_initiator != reg::DownInitiator::unknown && !to_text(row.down_initiator).empty();
  return fmt::format("went down last for: {}{}", reason, has_initiator ? fmt::format(" (by {})", to_text(row.down_initiator)) : "");
}

std::string ratio_phrase(const PortRow& row) {
  std::string text;
  const auto add = [&text](std::string_view name, std::optional<double> ratio) {
    if (ratio) text += fmt::format("{}{} {:g}", text.empty() ? "BER " : ", ", name, *ratio);
  };
  add("raw", phy::raw_ber(row));
  add("effective", phy::effective_ber(row));
  add("symbol", phy::symbol_ber(row));
  const std::optional<double> seconds = phy::seconds_since_clear(row);
  return text.empty() || !seconds ? text : fmt::format("{} in {}", text, duration_text(*seconds));
}

std::string module_phrase(const PortRow& row, bool is_up) {
  if (!row.has(Part::module)) return {};
  if (!row.has_module()) return is_up ? "" : "no module";
  std::string text = "module";
  for (const auto& bytes : {row.module.vendor, row.module.part_number, row.module.serial_number}) {
    if (const std::string of = phy::padded_text(bytes); !of.empty()) text += " " + in_quotes(of);
  }
  if (const auto celsius = phy::module_temperature(row)) text += fmt::format(", {:.0f} C", *celsius);
  return text;
}

/// Whether a finding names ports for themselves: not as examples of many, nor as the place of something else.
bool is_of_ports(const Finding& finding) {
  using enum Finding::Subject;
  return finding.subject == cable || finding.subject == cables || finding.subject == place;
}

std::vector<PortIndex> ports_in_finding(const Finding& finding, const Input& input) {
  std::vector<PortIndex> ports;
  if (!is_of_ports(finding)) return ports;
  const auto take = [&](const Place& place) {
    if (place.is_before || place.port == subnet::none || input.subnet.port(place.port).number == 0 || ports.size() == most_ports) return;
    if (std::ranges::find(ports, place.port) == ports.end()) ports.push_back(place.port);
  };
  for (const Place& end : finding.ends) take(end);
  for (const Place& place : finding.lost) take(place);
  return ports;
}

std::string end_name(const Finding& finding, std::size_t at, PortIndex port, const Input& input) {
  const bool is_cable = finding.subject == Finding::Subject::cable && finding.ends.size() <= 2 && at < 2;
  if (is_cable && finding.ends.front().port == port) return "This end";
  return is_cable && finding.ends.back().port == port ? "The other end" : port_text(input.subnet, port);
}

}  // namespace

std::string layer_text(const PortRow& row, bool is_up) {
  std::string text;
  for (const std::string& phrase : {trouble_phrase(row), last_down_phrase(row), ratio_phrase(row), module_phrase(row, is_up)}) {
    if (!phrase.empty()) text += (text.empty() ? "" : "; ") + phrase;
  }
  return text;
}

void add_layer(Findings& findings, const Input& input) {
  for (Finding& finding : findings) {
    const std::vector<PortIndex> ports = ports_in_finding(finding, input);
    for (std::size_t at = 0; at < ports.size(); ++at) {
      const PortRow* row = input.phy.find(ports[at]);
      if (row == nullptr) continue;
      const bool is_up = input.subnet.port(ports[at]).is_link_up();
      const std::string text = layer_text(*row, is_up);
      if (!text.empty())
        finding.detail += fmt::format("{}{}: {}.", finding.detail.empty() ? "" : " ", end_name(finding, at, ports[at], input), text);
      if (!is_up && finding.remedy.empty() && row->has(Part::troubleshooting)) finding.remedy = phy::remedy(row->trouble);
    }
  }
}

std::vector<PortIndex> ports_of(const Findings& findings, const Input& input) {
  std::vector<PortIndex> ports;
  std::vector<bool> is_known(input.subnet.ports().size());
  for (const Finding& finding : findings) {
    for (const PortIndex port : ports_in_finding(finding, input)) {
      if (!is_known[port]) ports.push_back(port);
      is_known[port] = true;
    }
  }
  return ports;
}

}  // namespace ib::health
