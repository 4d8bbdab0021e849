// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The comparisons are as in infiniband-diags. Like there, a different port number at the other end of a link is not found.
#include "tools/shared/fabric_diff.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "subnet/diff/counterparts.hpp"
#include "tools/frame/diags_words.hpp"

namespace ib::tools {
namespace {

using subnet::Node;
using subnet::NodeIndex;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;
using subnet::Subnet;

/// Sets `checks` to the checks in `words`, which are divided by commas. Returns the first unknown word.
std::optional<std::string> read_checks(const std::string& words, std::span<const DiffKey> keys, DiffChecks& checks) {
  checks = {};
  for (const std::string_view part : split(words)) {
    if (part.empty()) continue;
    const std::string word(part);
    const auto key =
        std::ranges::find_if(keys, [&](const DiffKey& known) { return ::strcasecmp(word.c_str(), std::string(known.word).c_str()) == 0; });
    if (key == keys.end()) return word;
    checks.*key->check = true;
  }
  return std::nullopt;
}

std::string listed(std::span<const DiffKey> keys) {
  std::string text;
  for (const DiffKey& key : keys) text += (text.empty() ? "" : ", ") + std::string(key.word);
  return text;
}

std::string checks_help(const DiffOptions& options) {
  return fmt::format("What --diff compares: some of {}, between commas.", listed(options.keys));
}

bool described_alike(const Node& a, const Node& b) { return a.description_bytes == b.description_bytes; }

/// The nodes that both fabrics have, and what each of the two sweeps may have missed of the other one.
struct Missed {
  Missed(const DiffSide& before, const DiffSide& after)
      : pairs(after.subnet, before.subnet),
        reversed(pairs.reversed()),
        then(before.subnet, before.failures != nullptr ? *before.failures : subnet::Failures(), after.subnet, reversed),
        now(after.subnet, after.failures != nullptr ? *after.failures : subnet::Failures(), before.subnet, pairs) {}

  subnet::Counterparts pairs, reversed;
  subnet::Unseen then, now;
};

/// A port in both fabrics: the two nodes have one GUID, the two ports one number.
class PortPair {
 public:
  PortPair(const Subnet& before, PortIndex old_port, const Subnet& after, PortIndex new_port)
      : before_(before), after_(after), old_(old_port), new_(new_port) {}

  std::optional<PortDifference> compare(const DiffChecks& checks, DiffWay way, const Missed& missed) const {
    if (new_peer() == none && missed.now.link(old_)) return std::nullopt;
    if (old_peer() == none && missed.then.link(new_)) return std::nullopt;
    return way == DiffWay::topology ? compare_topology(checks) : compare_links(checks);
  }

 private:
  bool has_old() const { return before_.port(old_).is_known(); }
  bool has_new() const { return after_.port(new_).is_known(); }
  PortIndex old_peer() const { return has_old() ? before_.port(old_).peer : none; }
  PortIndex new_peer() const { return has_new() ? after_.port(new_).peer : none; }
  bool have_both() const { return has_old() && has_new(); }
  bool linked_both() const { return old_peer() != none && new_peer() != none; }

  bool peer_guids_differ() const { return linked_both() && before_.port_guid(old_peer()) != after_.port_guid(new_peer()); }
  /// Whether the node at the other end has another LID or description, and this is compared.
  bool peers_differ(const DiffChecks& checks) const {
    if (!checks.ports || !linked_both()) return false;
    if (checks.lids && before_.lid(old_peer()) != after_.lid(new_peer())) return true;
    return checks.descriptions && !described_alike(before_.node(before_.port(old_peer()).node), after_.node(after_.port(new_peer()).node));
  }

  std::optional<PortDifference> compare_topology(const DiffChecks& checks) const {
    bool show_old = false, show_new = false;
    if (checks.ports) {
      if (has_old() && (!has_new() || (old_peer() != none && new_peer() == none))) {
        show_old = true;
      } else if (has_new() && (!has_old() || (old_peer() == none && new_peer() != none))) {
        show_new = true;
      } else if (have_both()) {
        show_old = show_new = before_.port_guid(old_) != after_.port_guid(new_) || peer_guids_differ();
      }
    }
    if ((checks.lids && have_both() && before_.lid(old_) != after_.lid(new_)) || peers_differ(checks)) show_old = show_new = true;
    // A port without a link has no line in a topology file.
    show_old = show_old && old_peer() != none;
    show_new = show_new && new_peer() != none;
    if (!show_old && !show_new) return std::nullopt;
    return PortDifference{show_old ? old_ : none, show_new ? new_ : none};
  }

  std::optional<PortDifference> compare_links(const DiffChecks& checks) const {
    if (!has_old() && !has_new()) return std::nullopt;
    const bool rewired = has_old() != has_new() || (old_peer() == none) != (new_peer() == none) || peer_guids_differ();
    const bool restated = have_both() && before_.port(old_).state() != after_.port(new_).state();
    if (!(checks.ports && rewired) && !(checks.states && restated) && !peers_differ(checks)) return std::nullopt;
    return PortDifference{has_old() ? old_ : none, has_new() ? new_ : none};
  }

  const Subnet &before_, &after_;
  PortIndex old_, new_;
};

std::optional<NodeDifference> compare(const Subnet& before, NodeIndex old_node, const Subnet& after, NodeIndex new_node,
                                      const DiffChecks& checks, DiffWay way, const Missed& missed) {
  NodeDifference found{old_node, new_node, false, false, {}};
  if (new_node == none) return missed.now.node(old_node) ? std::nullopt : std::optional(found);
  const Node &was = before.node(old_node), &is = after.node(new_node);
  if (!checks.any_of_nodes()) return std::nullopt;
  const bool moved = was.kind() == subnet::NodeKind::sw && before.lid(was.first_port) != after.lid(is.first_port);
  found.head = (checks.lids && moved) || (checks.descriptions && !described_alike(was, is));
  found.num_ports = was.info.num_ports != is.info.num_ports;
  const bool compares_ports = way == DiffWay::links || checks.ports || checks.lids;
  for (unsigned number = 1; compares_ports && !found.num_ports && number <= was.info.num_ports; ++number) {
    const PortPair pair(before, was.first_port + number, after, is.first_port + number);
    if (const auto port = pair.compare(checks, way, missed)) found.ports.push_back(*port);
  }
  if (!found.head && !found.num_ports && found.ports.empty()) return std::nullopt;
  return found;
}

}  // namespace

void add_diff(OptionSet& set, DiffOptions& options) {
  set.text("--diff", options.file, "FILE",
           set.is_diags() ? "Print what is different from the fabric in this file of --cache."
                          : "Print what is different from the fabric in this file.");
  set.value("--diffcheck", "KEYS", checks_help(options), [&options, diags = set.is_diags()](const std::string& words) {
    const auto wrong = read_checks(words, options.keys, options.checks);
    if (wrong && diags) throw DiagsUsage(fmt::format("invalid diff check key: {}\n", *wrong));
    if (wrong) throw OptionError(fmt::format("--diffcheck does not know {}: it takes {}", in_quotes(*wrong), listed(options.keys)));
  });
}

std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way) {
  const Missed missed(before, after);
  std::vector<NodeDifference> found;
  for (const NodeIndex at : before.nodes) {
    const NodeIndex now = missed.pairs.node_now(at);
    if (auto difference = compare(before.subnet, at, after.subnet, now, checks, way, missed)) found.push_back(std::move(*difference));
  }
  for (const NodeIndex at : after.nodes) {
    if (missed.pairs.node_then(at) == none && !missed.then.node(at)) found.push_back({none, at, false, false, {}});
  }
  return found;
}

}  // namespace ib::tools
