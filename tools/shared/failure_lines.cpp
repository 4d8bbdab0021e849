// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/failure_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "subnet/model/names.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/host.hpp"

namespace ib::tools {
namespace {

using FailureKind = subnet::Failure::Kind;
using Names = std::vector<std::string>;

constexpr std::size_t most_names = 3;

/// Port numbers as ranges: "1-8, 12".
class Ranges {
 public:
  void add(unsigned number) {
    if (!text_.empty() && number == last_ + 1) {
      last_ = number;
      return;
    }
    close();
    add_part(text_, std::to_string(number));
    first_ = last_ = number;
    ++runs_;
  }
  std::string text() {
    const bool are_many = runs_ > 1 || last_ != first_;
    close();
    return (are_many ? "ports " : "port ") + text_;
  }

 private:
  void close() {
    if (last_ != first_) text_ += '-' + std::to_string(last_);
    first_ = last_;
  }
  std::string text_;
  unsigned first_{}, last_{}, runs_{};
};

bool was_set(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  return error != nullptr && error->request().size() >= mad::header_size && mad::HeaderView(error->request()).method() == mad::method::set;
}

/// Whether the answer was that the node is busy, also to the last try.
bool is_busy(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  return failure.kind == FailureKind::refused && error != nullptr && (error->status() & mad::status::busy) != 0;
}

/// Whether a node answered at first and is silent now.
bool has_stopped(const subnet::Failure& failure) {
  return failure.kind == FailureKind::no_answer && failure.attribute == "NodeInfo" && !failure.beyond;
}

bool alike(const subnet::Failure& a, const subnet::Failure& b) {
  const bool same_cause = (a.error && b.error) || a.kind == FailureKind::no_record;
  return same_cause && !a.beyond && !b.beyond && a.node == b.node && a.kind == b.kind && a.attribute == b.attribute && a.why == b.why;
}

/// Prints one line for all attributes that were not read for one reason, whatever the number of nodes is.
void print_unread(Log& log, const std::vector<subnet::Failure>& failures) {
  std::vector<std::pair<std::string, std::vector<const subnet::Failure*>>> causes;
  for (const subnet::Failure& failure : failures) {
    std::string cause = cause_of(failure);
    if (cause.empty()) continue;
    auto known = std::ranges::find(causes, cause, &decltype(causes)::value_type::first);
    if (known == causes.end()) known = causes.insert(causes.end(), {std::move(cause), {}});
    known->second.push_back(&failure);
  }
  for (const auto& [cause, of] : causes) log.error(of.size() == 1 && of.front()->node != subnet::none ? of.front()->why : cause);
}

/// Whether the node answered the requests for its counters, but it is not known whose these are (counters/readings.hpp).
bool is_of_unknown_owner(const subnet::Failure& failure) {
  return failure.kind == FailureKind::not_read && failure.attribute == "NodeInfo";
}
bool has_other_owner(const subnet::Failure& failure) { return dynamic_cast<const subnet::WrongNode*>(failure.error.get()) != nullptr; }

/// Whether the line for a failure consists of its reason.
bool is_its_reason(const subnet::Failure& failure) {
  if (failure.node == subnet::none || failure.attribute.empty()) return true;
  if (failure.kind == FailureKind::refused || failure.kind == FailureKind::no_record) return false;
  return failure.kind != FailureKind::no_answer || has_stopped(failure);
}

/// Failures with equal causes share a line.
using Cause = std::tuple<bool, bool, FailureKind, bool, std::string, std::string>;
Cause line_of(const subnet::Failure& failure) {
  const bool is_of_node = failure.node != subnet::none;
  if (is_silent_pma(failure)) return {is_of_node, false, failure.kind, false, "PMA", {}};
  if (is_of_unknown_owner(failure)) return {is_of_node, false, failure.kind, has_other_owner(failure), "owner", {}};
  if (has_stopped(failure)) return {is_of_node, false, failure.kind, false, "NodeInfo", {}};  // however many attributes it has not sent
  const std::string attribute = failure.beyond || is_its_reason(failure) ? std::string() : failure.attribute;
  const std::string reason = is_busy(failure) ? "busy" : is_its_reason(failure) ? failure.why : std::string();
  return {is_of_node, failure.beyond, failure.kind, was_set(failure), attribute, reason};
}

/// The name of what did not answer: a node, or a port of one.
std::string name_in(const subnet::Subnet& subnet, const subnet::Failure& failure) {
  const std::string node = node_text(subnet, failure.node);
  return failure.beyond ? fmt::format("port {} of {}", failure.port, node) : node;
}

std::string line_about_beyond(const subnet::Failure& failure, const Names& names) {
  const bool is_one = names.size() == 1;
  const std::string where = is_one ? names.front() : some_of(names, "port", "ports");
  switch (failure.kind) {
    case FailureKind::no_answer:
      return fmt::format("No answer from beyond {}.", where);
    case FailureKind::refused:
      if (is_one) return fmt::format("The node beyond {} does not identify itself.", where);
      return fmt::format("What is beyond them does not identify itself: {}.", where);
    case FailureKind::no_record:
      return fmt::format("The SA does not know what is beyond {}.", where);
    default:
      return fmt::format("Beyond {}: {}", where, failure.why);
  }
}

/// A line about one node or several nodes.
std::string line_about(const subnet::Failure& failure, const Names& names, Ranges& ports) {
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
  const std::string what = failure.attribute + (has_ports ? " of " + ports.text() : "");
  if (failure.kind == FailureKind::no_record) return fmt::format("The SA has no {} of {}.", what, who);
  if (is_busy(failure))
    return is_one ? fmt::format("{} stays busy, and does not report its {}.", who, what)
                  : fmt::format("No {} from {}: they stay busy.", what, who);
  if (failure.kind == FailureKind::refused)
    return is_one ? fmt::format("{} refuses to {} its {}.", who, was_set(failure) ? "set" : "report", what)
                  : fmt::format("A {} of {} is refused by {}.", was_set(failure) ? "Set" : "Get", what, who);
  return is_one ? fmt::format("No answer from {} about {}.", who, what) : fmt::format("No answer about {} from {}.", what, who);
}

/// A line for failures with one cause.
std::string line_for(const subnet::Subnet& subnet, const std::vector<const subnet::Failure*>& alike) {
  const subnet::Failure& first = *alike.front();
  if (first.node == subnet::none) return first.why + (alike.size() == 1 ? std::string() : fmt::format(" ({} times)", alike.size()));
  Names names;
  Ranges ports;
  for (const subnet::Failure* failure : alike) {
    std::string name = name_in(subnet, *failure);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    if (failure->port >= 0 && failure->attribute == first.attribute) ports.add(static_cast<unsigned>(failure->port));
  }
  return line_about(first, names, ports);
}

/// With -v: a line for each node and attribute, and the details of the request.
void print_each(const Host& host, const subnet::Subnet& subnet, const subnet::Failures& failures) {
  for (std::size_t at = 0; at < failures.size();) {
    const subnet::Failure& failure = failures[at];
    if (!cause_of(failure).empty()) {
      ++at;
      continue;
    }
    Ranges ports;
    std::size_t end = at;
    do {
      if (failures[end].port >= 0) ports.add(static_cast<unsigned>(failures[end].port));
      ++end;
    } while (end < failures.size() && alike(failure, failures[end]));
    host.log().error(failure.node == subnet::none ? failure.why : line_about(failure, {name_in(subnet, failure)}, ports));
    if (failure.error) host.report(*failure.error, false);
    at = end;
  }
}

}  // namespace

std::string node_text(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  std::string text = to_text(node.guid());
  if (node.has_description) text += ' ' + in_quotes(node.description());
  return text + subnet::twin_mark(subnet, at);
}

std::string some_of(const std::vector<std::string>& names, std::string_view one, std::string_view many) {
  if (names.size() == 1) return fmt::format("{} {}", one, names.front());
  const std::size_t shown = std::min(names.size(), most_names);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string more = shown == names.size() ? std::string() : fmt::format(" and {} more", names.size() - shown);
  return fmt::format("{} {}: {}{}", names.size(), many, fmt::join(names.begin(), end, ", "), more);
}

bool is_silent_pma(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  if (failure.kind != FailureKind::no_answer || failure.beyond || error == nullptr || error->request().size() < mad::header_size)
    return false;
  return mad::HeaderView(error->request()).mgmt_class() == mad::mgmt_class::performance;
}

/// The reason why a request was not sent, without the node; empty for another kind of failure.
std::string cause_of(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::NotRead*>(failure.error.get());
  return error != nullptr ? error->cause() : "";
}

std::vector<std::string> failure_lines(const subnet::Subnet& subnet, const subnet::Failures& failures) {
  std::vector<std::vector<const subnet::Failure*>> groups;
  std::map<Cause, std::size_t> places;
  for (const subnet::Failure& failure : failures) {
    if (!cause_of(failure).empty()) continue;
    const auto [place, is_new] = places.try_emplace(line_of(failure), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&failure);
  }
  std::vector<std::string> lines;
  for (const auto& group : groups) lines.push_back(line_for(subnet, group));
  return lines;
}

void print_failures(const Host& host, const subnet::Subnet& subnet, const subnet::Failures& failures) {
  print_unread(host.log(), failures);
  if (host.options().error_level() >= 1) return print_each(host, subnet, failures);
  for (const std::string& line : failure_lines(subnet, failures)) host.log().error(line);
}

}  // namespace ib::tools
