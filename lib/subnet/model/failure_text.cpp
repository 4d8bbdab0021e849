// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "mad/packet.hpp"
#include "subnet/model/failures.hpp"
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

/// The header of the request that failed. Nothing if no request was made.
std::optional<mad::HeaderView> request_of(const Failure& failure) {
  const mad::MadError* error = mad_error_of(failure);
  return error == nullptr ? std::nullopt : std::optional(mad::HeaderView(error->request()));
}

bool was_set(const Failure& failure) {
  const auto request = request_of(failure);
  return request && request->method() == mad::method::set;
}

/// Whether the failure is a PMA that did not answer.
bool is_silent_pma(const Failure& failure) {
  const auto request = request_of(failure);
  return failure.kind == Failure::Kind::no_answer && request && request->mgmt_class() == mad::mgmt_class::performance;
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
  if (std::string cause = cause_of(failure); !cause.empty()) return {false, false, failure.kind, false, "unread", std::move(cause)};
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
  if (failure.kind == Failure::Kind::no_answer) return fmt::format("No answer from beyond {}.", where);
  if (failure.kind == Failure::Kind::no_record) return fmt::format("The SA does not know what is beyond {}.", where);
  if (failure.kind != Failure::Kind::refused) return fmt::format("Beyond {}: {}", where, failure.why);
  if (is_one) return fmt::format("The node beyond {} does not identify itself.", where);
  return fmt::format("What is beyond them does not identify itself: {}.", where);
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

/// The failures of one line.
using Group = std::vector<const Failure*>;

/// Requests that were not sent come first.
std::vector<Group> grouped(const Failures& failures, bool detailed) {
  std::vector<Group> groups;
  std::map<Cause, std::size_t> places;
  for (const bool was_sent : {false, true}) {
    for (const Failure& failure : failures) {
      if (cause_of(failure).empty() != was_sent) continue;
      std::size_t at = groups.size();
      if (!detailed || !was_sent) {
        at = places.try_emplace(shared_cause(failure), at).first->second;
      } else if (!groups.empty() && alike(*groups.back().front(), failure)) {
        --at;
      }
      if (at == groups.size()) groups.emplace_back();
      groups[at].push_back(&failure);
    }
  }
  return groups;
}

std::string line_for(const Subnet& subnet, const Group& group, bool detailed) {
  const Failure& first = *group.front();
  if (std::string cause = cause_of(first); !cause.empty()) return group.size() == 1 && first.node != none ? first.why : cause;
  if (first.node == none) return first.why + (detailed || group.size() == 1 ? std::string() : fmt::format(" ({} times)", group.size()));
  Names names;
  PortNumbers ports;
  for (const Failure* failure : group) {
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
  const std::string more = shown == names.size() ? std::string() : fmt::format(" and {} more", names.size() - shown);
  return fmt::format("{} {}: {}{}", names.size(), many, joined(std::span(names).first(shown), ", "), more);
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

std::vector<FailureLine> failure_lines(const Subnet& subnet, const Failures& failures, bool detailed) {
  std::vector<FailureLine> lines;
  for (const Group& group : grouped(failures, detailed)) {
    const bool has_error = detailed && cause_of(*group.front()).empty();
    lines.push_back({line_for(subnet, group, detailed), has_error ? group.front()->error : nullptr});
  }
  return lines;
}

}  // namespace ib::subnet
