// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/parse.hpp"
#include "health/diagnosis.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

bool is_watched(const PortChanges& counts) {
  const auto is_implausible = [](const CounterChange& change) { return change.kind == ChangeKind::implausible; };
  return counts.seconds && std::ranges::none_of(counts.changes, is_implausible);
}

template <class IsRead>
Coverage cover(const Input& input, Source source, const std::vector<PortIndex>& ports, IsRead is_read) {
  Coverage coverage{source, {}};
  std::map<NodeIndex, bool> nodes;
  for (const PortIndex port : ports) {
    const bool was_read = is_read(port);
    ++coverage.ports.of;
    coverage.ports.read += was_read ? 1 : 0;
    const auto [node, is_new] = nodes.try_emplace(input.subnet.port(port).node, true);
    node->second = node->second && was_read;
  }
  coverage.nodes.of = nodes.size();
  coverage.nodes.read = static_cast<std::size_t>(std::ranges::count_if(nodes, [](const auto& node) { return node.second; }));
  return coverage;
}

/// Whether all registers of a port were read by which checks judge it.
bool has_judged_parts(const phy::PortRow* row) {
  using phy::Part;
  constexpr std::array judged{Part::operation, Part::troubleshooting, Part::module, Part::statistics};
  return row != nullptr && std::ranges::all_of(judged, [row](Part part) { return row->has(part); });
}

bool has_all_planes(const Input& input, PortIndex at) {
  const auto planes = input.phy.planes(at);
  return planes.size() == input.planes.count(input.subnet.port(at).node) &&
         std::ranges::all_of(planes, [](const phy::PortRow& plane) { return plane.has(phy::Part::operation); });
}

/// The PortInfo of the ports that the sweep found, and of those whose request failed.
Coverage cover_port_infos(const Input& input) {
  std::vector<bool> failed(input.subnet.nodes().size());
  for (const subnet::Failure& failure : input.failures) {
    const bool is_of_sweep = failure.attribute == "PortInfo" || failure.attribute == "NodeInfo";
    if (failure.node != subnet::none && !failure.beyond && is_of_sweep && failure.kind != subnet::Failure::Kind::not_read)
      failed[failure.node] = true;
  }
  const std::vector<PortIndex> ports = input.subnet.ports_where([&](PortIndex at) {
    const subnet::Port& port = input.subnet.port(at);
    return port.number != 0 && (port.is_known() || failed[port.node]);
  });
  return cover(input, Source::topology, ports, [&input](PortIndex at) {
    const subnet::Port& port = input.subnet.port(at);
    return port.is_known() && !input.subnet.node(port.node).is_listed;
  });
}

struct Covered {
  Source source;
  std::string_view name, what, unit;
};
const Covered& words_of(Source source) {
  static constexpr Covered all[] = {
      {Source::topology, "port_info", "PortInfo of", "ports"}, {Source::counters, "counters", "counters of", "nodes"},
      {Source::window, "window", "watched", "nodes"},          {Source::pkeys, "pkeys", "P_Keys of", "ports"},
      {Source::fec, "fec", "FEC modes of", "ports"},           {Source::managers, "managers", "SMInfo of", "subnet managers"},
      {Source::phy, "phy", "registers of", "ports"},           {Source::environment, "environment", "temperatures of", "switches"},
      {Source::planes, "planes", "planes of", "ports"},
  };
  return *std::ranges::find(all, source, &Covered::source);
}

using Member = double Thresholds::*;

constexpr std::pair<std::string_view, Member> members[] = {
    {"error_ratio", &Thresholds::error_ratio},
    {"warning_ratio", &Thresholds::warning_ratio},
    {"least_errors", &Thresholds::least_errors},
    {"recoveries_error", &Thresholds::recoveries_error},
    {"recoveries_a_minute", &Thresholds::recoveries_a_minute},
    {"events", &Thresholds::events},
    {"wait_ticks", &Thresholds::wait_ticks},
    {"congestion_heads", &Thresholds::congestion_heads},
    {"light_loss", &Thresholds::light_loss},
    {"lane_times", &Thresholds::lane_times},
    {"lane_ratio", &Thresholds::lane_ratio},
};

void set_threshold(const SettingLine& line, Thresholds& thresholds) {
  if (!line.has_equals) throw UsageError("not a line NAME=NUMBER");
  const std::string_view name = line.name, text = line.value;
  const auto* const found = std::ranges::find(members, name, &std::pair<std::string_view, Member>::first);
  if (found == std::end(members)) {
    std::vector<std::string_view> names;
    for (const auto& [known, member] : members) names.push_back(known);
    throw UsageError(fmt::format("no threshold is called {}{}", in_quotes(name), did_you_mean(name, names)));
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    throw UsageError(fmt::format("{} is not a number from 0 on", in_quotes(text)));
  thresholds.*(found->second) = value;
}

}  // namespace

PortIndex former_peer(const Input& input, PortIndex port) {
  if (input.subnet.port(port).peer != subnet::none) return subnet::none;
  PortIndex peer = subnet::none;
  if (const auto known = input.former_peers.find(port); known != input.former_peers.end()) {
    peer = known->second;
  } else if (input.baseline != nullptr) {
    const PortIndex before = input.baseline->changes.pairs.port_then(port);
    if (before != subnet::none) peer = input.baseline->changes.pairs.port_now(input.baseline->subnet.port(before).peer);
  }
  return peer == subnet::none || input.subnet.port(peer).peer != subnet::none ? subnet::none : peer;
}

PortIndex own_sm_port(const Subnet& subnet) {
  const Lid lid = own_sm_lid(subnet);
  return lid.is_unicast() ? subnet.find_lid(lid) : subnet::none;
}

void take_managers(const subnet::SurveyedManagers& found, const std::map<Lid, smp::SMInfo>& records, Input& input) {
  input.has_read_managers = true;
  for (const auto& row : found.rows) {
    if (row.value) {
      input.managers.push_back({row.port, *row.value, {}});
      continue;
    }
    const bool is_silent = found.failures[row.failure].kind == subnet::Failure::Kind::no_answer;
    // A port without IsSM that answers with an error has no subnet manager, for instance because it ended.
    if (!is_silent && !subnet::has_is_sm(input.subnet.port(row.port).info())) continue;
    ++input.silent_managers;
    if (!is_silent) continue;
    const auto record = records.find(input.subnet.lid(row.port));
    input.silent.push_back({row.port, record == records.end() ? std::nullopt : std::optional(record->second.sm_state)});
  }
  if (input.silent_managers == 0) return;
  const std::size_t count = input.managers.size() + input.silent_managers;
  const bool is_partial = !input.managers.empty() || !input.silent.empty();
  for (const Source source : {Source::managers, Source::activity})
    input.not_read(source, fmt::format("{} of {} subnet managers did not answer SMInfo", input.silent_managers, count), is_partial);
}

std::vector<Coverage> coverage_of(const Input& input) {
  std::vector<Coverage> all{cover_port_infos(input)};
  const auto add = [&](Source source, const std::vector<PortIndex>& ports, const auto& is_read) {
    if (!ports.empty()) all.push_back(cover(input, source, ports, is_read));
  };
  const auto add_counted = [&all](Source source, std::size_t read, std::size_t of) {
    if (of != 0) all.push_back({source, {read, of}, {read, of}});
  };
  add(Source::counters, input.counter_ports, [&input](PortIndex at) { return input.counts.find(at) != nullptr; });
  add(Source::window, input.window_ports, [&input](PortIndex at) {
    const PortChanges* counts = input.counts.find(at);
    return counts != nullptr && is_watched(*counts);
  });
  add(Source::pkeys, input.pkey_ports, [&input](PortIndex at) { return input.pkeys.contains(at); });
  add(Source::fec, input.fec_ports, [&input](PortIndex at) { return !input.fec_unread.contains(at); });
  add(Source::phy, input.phy_ports, [&input](PortIndex at) { return has_judged_parts(input.phy.find(at)); });
  const auto is_known = [&input](NodeIndex node) { return input.phy.environment(node) != nullptr; };
  add_counted(Source::environment, static_cast<std::size_t>(std::ranges::count_if(input.environment_nodes, is_known)),
              input.environment_nodes.size());
  if (!input.planes.of_node.empty()) {
    std::vector<PortIndex> ports = input.phy_ports;
    std::erase_if(ports, [&input](PortIndex at) { return input.planes.count(input.subnet.port(at).node) == 0; });
    all.push_back(cover(input, Source::planes, ports, [&input](PortIndex at) { return has_all_planes(input, at); }));
  }
  add_counted(Source::managers, input.managers.size(), input.managers.size() + input.silent_managers);
  return all;
}

std::string coverage_text(const Coverage& coverage) {
  const Covered& words = words_of(coverage.source);
  const bool counts_nodes = words.unit == "nodes" && coverage.nodes.of != 1;
  const Share& share = counts_nodes ? coverage.nodes : coverage.ports;
  std::string_view unit = words.unit == "nodes" && !counts_nodes ? "ports" : words.unit;
  if (coverage.source == Source::managers && share.of == 1) unit.remove_suffix(1);
  return fmt::format("{} {} of {} {}", words.what, share.read, share.of, unit);
}

std::string_view name_of_covered(Source source) { return words_of(source).name; }

std::optional<double> seconds_at_both_ends(const Input& input, PortIndex port) {
  const PortIndex peer = input.subnet.port(port).peer;
  if (peer == subnet::none) return std::nullopt;
  const PortChanges *here = input.counts.find(port), *there = input.counts.find(peer);
  if (here == nullptr || there == nullptr || !is_watched(*here) || !is_watched(*there)) return std::nullopt;
  return std::min(*here->seconds, *there->seconds);
}

void read_thresholds(std::string_view text, std::string_view file, Thresholds& thresholds) {
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    try {
      set_threshold(*line, thresholds);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}:{}: {}", harmless_line(file), line->number, error.message()));
    }
  }
}

}  // namespace ib::health
