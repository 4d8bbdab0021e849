// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "health/diagnosis.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

constexpr std::array<std::string_view, 3> level_names{"info", "warning", "error"};
constexpr std::array<std::string_view, 3> confidence_names{"possible", "likely", "sure"};

constexpr std::size_t most_ends = 3;      // of a group
constexpr std::size_t most_evidence = 4;  // of another finding, whose worst checks come first
constexpr double minute = 60, hour = 3600, day = 86400;

std::string value_text(const Value& value) {
  if (!value.word.empty()) return std::string(value.word);
  if (const auto* count = std::get_if<std::uint64_t>(&value.number); count != nullptr) return std::to_string(*count);
  const auto* number = std::get_if<double>(&value.number);
  return number == nullptr ? "?" : fmt::format("{:g}", *number);
}

std::string_view counter_name(const FieldInfo& counter) {
  const std::string_view libibmad = dialects_of(counter).libibmad;
  return libibmad.empty() ? counter.iba_name : libibmad;
}

/// Whether an end is only one of the ports of the node that is the first end, which has named it.
bool is_named_by_first(const Finding& finding, const Place& end) {
  const Place& first = finding.ends.front();
  return finding.subject == Finding::Subject::place && first.port == subnet::none && end.node == first.node &&
         end.is_before == first.is_before;
}

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

Finding on_cable(const Subnet& subnet, PortIndex port, std::vector<Evidence> evidence) {
  Finding finding{.ends = {place_of(subnet, port)}, .evidence = std::move(evidence)};
  if (const PortIndex peer = subnet.port(port).peer; peer != subnet::none) finding.ends.push_back(place_of(subnet, peer));
  return finding;
}

std::tuple<Guid, unsigned, PortIndex> place_order(const Subnet& subnet, PortIndex port) {
  return {subnet.node(subnet.port(port).node).guid(), subnet.port(port).number, port};
}

std::vector<PortIndex> first_ends(const Subnet& subnet) {
  const auto order = [&subnet](PortIndex at) { return place_order(subnet, at); };
  std::vector<PortIndex> ends = subnet.ports_where([&](PortIndex at) {
    const PortIndex peer = subnet.port(at).peer;
    return peer != subnet::none && order(at) <= order(peer);
  });
  std::ranges::sort(ends, {}, order);
  return ends;
}

std::vector<PortIndex> end_ports_in_use(const Subnet& subnet) {
  std::vector<PortIndex> ends = subnet.ports_where([&subnet](PortIndex at) { return subnet::is_end_port_in_use(subnet, at); });
  std::ranges::sort(ends, {}, [&subnet](PortIndex at) { return place_order(subnet, at); });
  return ends;
}

Finding on_place(const Subnet& subnet, const Place& place, bool is_cable) {
  return is_cable ? on_cable(subnet, place.port) : Finding{.subject = Finding::Subject::place, .ends = {place}};
}

Finding on_port(const Subnet& subnet, PortIndex port, std::vector<Evidence> evidence, Finding::Subject subject) {
  return {.subject = subject, .ends = {place_of(subnet, port)}, .evidence = std::move(evidence)};
}

Finding on_ports(const Subnet& subnet, std::span<const PortIndex> ports, Finding::Subject subject) {
  Finding finding{.subject = subject};
  for (const PortIndex port : ports) finding.ends.push_back(place_of(subnet, port));
  return finding;
}

Finding on_nodes(std::span<const NodeIndex> nodes, Finding::Subject subject) {
  Finding finding{.subject = subject};
  for (const NodeIndex node : nodes) finding.ends.push_back({node, subnet::none});
  return finding;
}

std::string count_text(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", fmt::group_digits(count), count == 1 ? one : many);
}

std::string duration_text(double seconds) {
  if (seconds < 2 * minute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return seconds < 2 * day ? fmt::format("{:.1f} h", seconds / hour) : fmt::format("{:.1f} days", seconds / day);
}

std::string FindingText::node(const Place& place, bool has_guid) const {
  if (place.node == subnet::none) return "a node that does not answer";
  const Subnet& of = subnet_of(place);
  const subnet::Node& node = of.node(place.node);
  const std::string_view name = subnet::name_of(node, &names);
  std::string text = name.empty() ? std::string() : in_quotes(name);
  if (name.empty() || has_guid) text += (name.empty() ? "" : " ") + to_text(node.guid());
  return text + subnet::twin_mark(of, place.node);
}

std::string FindingText::place(const Place& place) const {
  if (place.port == subnet::none) return node(place, true);
  const std::string number = std::to_string(subnet_of(place).port(place.port).number);
  const std::string label = subnet::port_label(subnet_of(place), place.port);
  return fmt::format("{} port {}{}", node(place, true), number, label.empty() || label == number ? "" : fmt::format(" ({})", label));
}

std::string FindingText::short_place(const Place& place) const {
  return node(place, false) + (place.port == subnet::none ? "" : fmt::format(" port {}", subnet_of(place).port(place.port).number));
}

std::string FindingText::ends(const Finding& finding, std::size_t most) const {
  std::string text;
  if (finding.subject == Finding::Subject::cables) {
    const std::size_t count = finding.ends.size() / 2;
    for (std::size_t at = 0; at < count && at < most; ++at)
      add_part(text, fmt::format("{} -- {}", place(finding.ends[2 * at]), place(finding.ends[2 * at + 1])), "; ");
    return count <= most ? text : fmt::format("{}; and {} more (in JSON)", text, fmt::group_digits(count - most));
  }
  const bool is_group = finding.subject == Finding::Subject::group;
  const bool is_of_nodes = is_group && finding.ends.front().port == subnet::none;
  if (is_group) {
    const std::string_view one = is_of_nodes ? "node" : "port";
    const std::string_view example = finding.ends.size() == 1 ? ", " : "s, for example ";
    text = fmt::format("{} {}{}", fmt::group_digits(finding.ends.size()), one, example);
  }
  const std::string_view between = is_group ? "; " : finding.subject == Finding::Subject::cable ? " -- " : " and ";
  const std::size_t shown = is_group ? std::min(most, finding.ends.size()) : finding.ends.size();
  for (std::size_t at = 0; at < shown; ++at) {
    if (at != 0 && is_named_by_first(finding, finding.ends[at])) continue;
    if (at != 0) text += between;
    text += place(finding.ends[at]);
  }
  return text;
}

std::string FindingText::evidence(const Finding& finding, const Evidence& evidence) const {
  std::string text;
  if (evidence.counter == nullptr) {
    const std::string was = evidence.before.known() ? fmt::format("was {}, ", value_text(evidence.before)) : std::string();
    text = fmt::format("{} {}is {}", evidence.field, was, value_text(evidence.after));
    if (!evidence.limit_word.empty()) {
      text += fmt::format(", not {}", evidence.limit_word);
    } else if (evidence.limit) {
      text += fmt::format(", {} {:g}", evidence.is_beyond_limit ? "limit" : "not", *evidence.limit);
    }
  } else if (evidence.delta && *evidence.delta != 0) {
    const std::string limit = evidence.seconds && evidence.limit ? fmt::format("limit {:.6g}", *evidence.limit) : std::string();
    text = fmt::format("{} +{}", counter_name(*evidence.counter), *evidence.delta);
    if (!limit.empty() && !evidence.is_rate_limit) text += fmt::format(" ({})", limit);
    if (evidence.seconds) text += fmt::format(" in {} ({:.3g}/s", duration_text(*evidence.seconds), *evidence.per_second());
    if (!limit.empty() && evidence.is_rate_limit) text += fmt::format(", {}/s", limit);
    if (evidence.seconds) text += ")";
  } else if (evidence.before.known() && evidence.before.number != evidence.after.number) {
    text = fmt::format("{} was {}, is {}", counter_name(*evidence.counter), value_text(evidence.before), value_text(evidence.after));
  } else {
    text = fmt::format("{} is {}", counter_name(*evidence.counter), value_text(evidence.after));
  }
  if (evidence.end == 0 || finding.subject == Finding::Subject::group) return text;
  const Place& end = finding.ends[evidence.end];
  if (finding.subject == Finding::Subject::cable) return finding.ends.size() == 2 ? text + " at the other end" : text;
  if (is_named_by_first(finding, end) && end.port != subnet::none) return fmt::format("{} at port {}", text, subnet.port(end.port).number);
  return text + " at " + short_place(end);
}

std::string FindingText::seen(const Finding& finding) const {
  const bool is_group = finding.subject == Finding::Subject::group;
  const std::size_t most = is_group ? most_ends : most_evidence;
  std::string text;
  for (std::size_t at = 0; at < finding.evidence.size() && at < most; ++at) add_part(text, evidence(finding, finding.evidence[at]), "; ");
  if (finding.evidence.size() > most) text += is_group ? "; …" : fmt::format("; … and {} more (in JSON)", finding.evidence.size() - most);
  if (!text.empty()) text += '.';
  if (!finding.detail.empty()) add_part(text, finding.detail, " ");
  std::string also;
  for (const Check* check : finding.also) add_part(also, check->id);
  if (!also.empty()) add_part(text, fmt::format("Also: {}.", also), " ");
  return text;
}

std::string FindingText::brief(const Finding& finding) const {
  const bool is_group = finding.subject == Finding::Subject::group;
  std::string text;
  for (std::size_t at = 0; at < finding.evidence.size(); ++at) {
    if (is_group && finding.evidence[at].end != 0) continue;
    add_part(text, evidence(finding, finding.evidence[at]), "; ");
  }
  if (!finding.detail.empty()) add_part(text, finding.detail, ". ");
  return text.empty() ? ends(finding, 1) : fmt::format("{}: {}", ends(finding, 1), text);
}

}  // namespace ib::health
