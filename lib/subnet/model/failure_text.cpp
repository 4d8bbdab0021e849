// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/failure_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "subnet/model/names.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::subnet {
namespace {

using Names = std::vector<std::string>;
using PortNumbers = std::vector<unsigned>;

const mad::MadError* mad_error_of(const Failure& failure) { return dynamic_cast<const mad::MadError*>(failure.error.get()); }

/// "port 3", "ports 1-8, 12"
std::string ports_text(const PortNumbers& ports) {
  std::string text;
  for (std::size_t first = 0, end = 0; first < ports.size(); first = end) {
    end = first + 1;
    while (end < ports.size() && ports[end] == ports[end - 1] + 1) ++end;
    add_part(text, std::to_string(ports[first]) + (end - first > 1 ? '-' + std::to_string(ports[end - 1]) : ""));
  }
  return (ports.size() > 1 ? "ports " : "port ") + text;
}

bool was_set(const Failure& failure) {
  const mad::MadError* error = mad_error_of(failure);
  return error != nullptr && error->request().size() >= mad::header_size && mad::HeaderView(error->request()).method() == mad::method::set;
}

/// Whether the failure is a PMA that did not answer.
bool is_silent_pma(const Failure& failure) {
  const mad::MadError* error = mad_error_of(failure);
  if (failure.kind != Failure::Kind::no_answer || error == nullptr || error->request().size() < mad::header_size) return false;
  return mad::HeaderView(error->request()).mgmt_class() == mad::mgmt_class::performance;
}

/// Whether the answer was that the node is busy, also to the last try.
bool is_busy(const Failure& failure) {
  const mad::MadError* error = mad_error_of(failure);
  return failure.kind == Failure::Kind::refused && error != nullptr && (error->status() & mad::status::busy) != 0;
}

/// Whether a node answered at first and is silent now.
bool has_stopped(const Failure& failure) {
  return failure.kind == Failure::Kind::no_answer && failure.attribute == "NodeInfo" && !failure.beyond;
}

bool alike(const Failure& a, const Failure& b) {
  const bool same_cause = (a.error && b.error) || a.kind == Failure::Kind::no_record;
  return same_cause && !a.beyond && !b.beyond && a.node == b.node && a.kind == b.kind && a.attribute == b.attribute && a.why == b.why;
}

/// The key by which two failures of one request are recognised.
using FailureKey = std::tuple<NodeIndex, bool, Failure::Kind, std::string, std::uint32_t>;
FailureKey key_of(const Failure& failure) {
  // A PMA is silent for whatever attribute is requested first.
  if (is_silent_pma(failure)) return {failure.node, false, failure.kind, {}, static_cast<std::uint32_t>(failure.port)};
  // Without an attribute no request was sent.
  return {failure.node, failure.beyond, failure.kind, failure.attribute.empty() ? failure.why : failure.attribute, failure.modifier};
}

/// Whether the node answered the requests for its counters, but it is not known whose these are (counters/readings.hpp).
bool is_of_unknown_owner(const Failure& failure) { return failure.kind == Failure::Kind::not_read && failure.attribute == "NodeInfo"; }
bool has_other_owner(const Failure& failure) { return dynamic_cast<const WrongNode*>(failure.error.get()) != nullptr; }

/// Whether the line for a failure consists of its reason.
bool is_its_reason(const Failure& failure) {
  if (failure.node == none || failure.attribute.empty()) return true;
  if (failure.kind == Failure::Kind::refused || failure.kind == Failure::Kind::no_record) return false;
  return failure.kind != Failure::Kind::no_answer || has_stopped(failure);
}

/// Failures with equal causes share a line.
using Cause = std::tuple<bool, bool, Failure::Kind, bool, std::string, std::string>;
Cause shared_cause(const Failure& failure) {
  const bool is_of_node = failure.node != none;
  if (is_silent_pma(failure)) return {is_of_node, false, failure.kind, false, "PMA", {}};
  if (is_of_unknown_owner(failure)) return {is_of_node, false, failure.kind, has_other_owner(failure), "owner", {}};
  if (has_stopped(failure)) return {is_of_node, false, failure.kind, false, "NodeInfo", {}};  // however many attributes it has not sent
  const std::string attribute = failure.beyond || is_its_reason(failure) ? std::string() : failure.attribute;
  const std::string reason = is_busy(failure) ? "busy" : is_its_reason(failure) ? failure.why : std::string();
  return {is_of_node, failure.beyond, failure.kind, was_set(failure), attribute, reason};
}

/// The name of what did not answer: a node, or a port of one.
std::string name_in(const Subnet& subnet, const Failure& failure) {
  const std::string node = node_text(subnet, failure.node);
  return failure.beyond ? fmt::format("port {} of {}", failure.port, node) : node;
}

std::string line_about_beyond(const Failure& failure, const Names& names) {
  const bool is_one = names.size() == 1;
  const std::string where = is_one ? names.front() : some_of(names, "port", "ports");
  switch (failure.kind) {
    case Failure::Kind::no_answer:
      return fmt::format("No answer from beyond {}.", where);
    case Failure::Kind::refused:
      if (is_one) return fmt::format("The node beyond {} does not identify itself.", where);
      return fmt::format("What is beyond them does not identify itself: {}.", where);
    case Failure::Kind::no_record:
      return fmt::format("The SA does not know what is beyond {}.", where);
    default:
      return fmt::format("Beyond {}: {}", where, failure.why);
  }
}

/// A line about one node or several nodes.
std::string line_about(const Failure& failure, const Names& names, const PortNumbers& ports) {
  if (failure.beyond) return line_about_beyond(failure, names);
  const bool is_one = names.size() == 1;
  const std::string who = is_one ? names.front() : some_of(names, "node", "nodes");
  if (!is_one && is_silent_pma(failure)) return fmt::format("No answer about counters from {}.", who);
  if (!is_one && is_of_unknown_owner(failure)) {
    const std::string_view why = has_other_owner(failure) ? "other nodes have the LIDs now" : "they do not identify themselves,";
    return fmt::format("Counters are not read, since {} of {}.", why, who);
  }
  if (!is_one && has_stopped(failure))
    return fmt::format("{}: They answered at first and then stopped answering; not all of their attributes are known.", who);
  if (is_its_reason(failure)) return fmt::format("{}: {}", who, failure.why);
  const bool has_ports = is_one && failure.port >= 0 && failure.attribute != "NodeInfo";
  const std::string what = failure.attribute + (has_ports ? " of " + ports_text(ports) : "");
  if (failure.kind == Failure::Kind::no_record) return fmt::format("The SA has no {} of {}.", what, who);
  if (is_busy(failure))
    return is_one ? fmt::format("{} stays busy, and does not report its {}.", who, what)
                  : fmt::format("No {} from {}: they stay busy.", what, who);
  if (failure.kind == Failure::Kind::refused)
    return is_one ? fmt::format("{} refuses to {} its {}.", who, was_set(failure) ? "set" : "report", what)
                  : fmt::format("A {} of {} is refused by {}.", was_set(failure) ? "Set" : "Get", what, who);
  return is_one ? fmt::format("No answer from {} about {}.", who, what) : fmt::format("No answer about {} from {}.", what, who);
}

/// A line for failures with one cause.
std::string line_for(const Subnet& subnet, const std::vector<const Failure*>& alike) {
  const Failure& first = *alike.front();
  if (first.node == none) return first.why + (alike.size() == 1 ? std::string() : fmt::format(" ({} times)", alike.size()));
  Names names;
  PortNumbers ports;
  for (const Failure* failure : alike) {
    std::string name = name_in(subnet, *failure);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    if (failure->port >= 0 && failure->attribute == first.attribute) ports.push_back(static_cast<unsigned>(failure->port));
  }
  return line_about(first, names, ports);
}

}  // namespace

std::string node_text(const Subnet& subnet, NodeIndex at) {
  const Node& node = subnet.node(at);
  std::string text = to_text(node.guid());
  if (node.has_description) text += ' ' + in_quotes(node.description());
  return text + twin_mark(subnet, at);
}

std::string some_of(const std::vector<std::string>& names, std::string_view one, std::string_view many) {
  if (names.size() == 1) return fmt::format("{} {}", one, names.front());
  constexpr std::size_t most_names = 3;
  const std::size_t shown = std::min(names.size(), most_names);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string more = shown == names.size() ? std::string() : fmt::format(" and {} more", names.size() - shown);
  return fmt::format("{} {}: {}{}", names.size(), many, fmt::join(names.begin(), end, ", "), more);
}

std::string cause_of(const Failure& failure) {
  const auto* error = dynamic_cast<const mad::NotRead*>(failure.error.get());
  return error != nullptr ? error->cause() : "";
}

void remove_known(Failures& met, const Failures& known) {
  std::set<FailureKey> keys;
  for (const Failure& failure : known) keys.insert(key_of(failure));
  std::erase_if(met, [&keys](const Failure& failure) { return keys.contains(key_of(failure)); });
}

std::vector<std::string> unread_lines(const Failures& failures) {
  std::vector<std::pair<std::string, std::vector<const Failure*>>> causes;
  for (const Failure& failure : failures) {
    std::string cause = cause_of(failure);
    if (cause.empty()) continue;
    auto known = std::ranges::find(causes, cause, &decltype(causes)::value_type::first);
    if (known == causes.end()) known = causes.insert(causes.end(), {std::move(cause), {}});
    known->second.push_back(&failure);
  }
  std::vector<std::string> lines;
  for (const auto& [cause, of] : causes) lines.push_back(of.size() == 1 && of.front()->node != none ? of.front()->why : cause);
  return lines;
}

std::vector<std::string> failure_lines(const Subnet& subnet, const Failures& failures) {
  std::vector<std::vector<const Failure*>> groups;
  std::map<Cause, std::size_t> places;
  for (const Failure& failure : failures) {
    if (!cause_of(failure).empty()) continue;
    const auto [place, is_new] = places.try_emplace(shared_cause(failure), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&failure);
  }
  std::vector<std::string> lines;
  for (const auto& group : groups) lines.push_back(line_for(subnet, group));
  return lines;
}

std::vector<std::pair<std::string, std::shared_ptr<const Error>>> detailed_lines(const Subnet& subnet, const Failures& failures) {
  std::vector<std::pair<std::string, std::shared_ptr<const Error>>> lines;
  for (std::size_t at = 0; at < failures.size();) {
    const Failure& failure = failures[at];
    if (!cause_of(failure).empty()) {
      ++at;
      continue;
    }
    PortNumbers ports;
    do {
      if (failures[at].port >= 0) ports.push_back(static_cast<unsigned>(failures[at].port));
      ++at;
    } while (at < failures.size() && alike(failure, failures[at]));
    lines.emplace_back(failure.node == none ? failure.why : line_about(failure, {name_in(subnet, failure)}, ports), failure.error);
  }
  return lines;
}

}  // namespace ib::subnet
