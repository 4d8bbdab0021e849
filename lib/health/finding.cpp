// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/finding.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "health/checks.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

constexpr std::array<std::string_view, 3> level_names{"info", "warning", "error"};
constexpr std::array<std::string_view, 3> confidence_names{"possible", "likely", "sure"};

}  // namespace

std::string_view name(Level level) { return level_names.at(static_cast<std::size_t>(level)); }
std::string_view name(Confidence confidence) { return confidence_names.at(static_cast<std::size_t>(confidence)); }

std::string_view Finding::what_to_do() const { return remedy.empty() ? check->remedy : remedy; }

std::size_t Finding::end_of(const Place& place) {
  const auto found = std::ranges::find(ends, place);
  if (found != ends.end()) return static_cast<std::size_t>(found - ends.begin());
  ends.push_back(place);
  return ends.size() - 1;
}

void Finding::add_sentence(std::string_view sentence) {
  if (!sentence.empty()) detail.append(detail.empty() ? "" : " ").append(sentence);
}

std::optional<Level> find_level(std::string_view name) {
  const auto* const found = std::ranges::find(level_names, name);
  if (found == level_names.end()) return std::nullopt;
  return static_cast<Level>(found - level_names.begin());
}

std::optional<double> Evidence::per_second() const {
  if (!delta || !seconds) return std::nullopt;
  return static_cast<double>(*delta) / *seconds;
}

Place place_of(const subnet::Subnet& subnet, subnet::PortIndex port) { return {subnet.port(port).node, port}; }

Finding on_cable(const subnet::Subnet& subnet, subnet::PortIndex port, std::vector<Evidence> evidence) {
  Finding finding;
  finding.evidence = std::move(evidence);
  finding.ends.push_back(place_of(subnet, port));
  if (const subnet::PortIndex peer = subnet.port(port).peer; peer != subnet::none) finding.ends.push_back(place_of(subnet, peer));
  return finding;
}

std::tuple<Guid, unsigned, subnet::PortIndex> place_order(const subnet::Subnet& subnet, subnet::PortIndex port) {
  return {subnet.node(subnet.port(port).node).guid(), subnet.port(port).number, port};
}

std::vector<subnet::PortIndex> first_ends(const subnet::Subnet& subnet) {
  const auto order = [&subnet](subnet::PortIndex at) { return place_order(subnet, at); };
  std::vector<subnet::PortIndex> ends;
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::PortIndex peer = subnet.port(at).peer;
    if (peer != subnet::none && order(at) <= order(peer)) ends.push_back(at);
  }
  std::ranges::sort(ends, {}, order);
  return ends;
}

std::vector<subnet::PortIndex> end_ports_in_use(const subnet::Subnet& subnet) {
  std::vector<subnet::PortIndex> ends;
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) {
    if (subnet::is_end_port_in_use(subnet, at)) ends.push_back(at);
  }
  std::ranges::sort(ends, {}, [&subnet](subnet::PortIndex at) { return place_order(subnet, at); });
  return ends;
}

Finding on_place(const subnet::Subnet& subnet, const Place& place, bool is_cable) {
  if (is_cable) return on_cable(subnet, place.port);
  Finding finding;
  finding.subject = Finding::Subject::place;
  finding.ends.push_back(place);
  return finding;
}

Finding on_port(const subnet::Subnet& subnet, subnet::PortIndex port, std::vector<Evidence> evidence, Finding::Subject subject) {
  Finding finding = on_ports(subnet, {&port, 1}, subject);
  finding.evidence = std::move(evidence);
  return finding;
}

Finding on_ports(const subnet::Subnet& subnet, std::span<const subnet::PortIndex> ports, Finding::Subject subject) {
  Finding finding;
  finding.subject = subject;
  for (const subnet::PortIndex port : ports) finding.ends.push_back(place_of(subnet, port));
  return finding;
}

Finding on_nodes(std::span<const subnet::NodeIndex> nodes, Finding::Subject subject) {
  Finding finding;
  finding.subject = subject;
  for (const subnet::NodeIndex node : nodes) finding.ends.push_back({node, subnet::none});
  return finding;
}

}  // namespace ib::health
