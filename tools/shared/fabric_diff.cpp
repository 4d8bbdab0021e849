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
  for (const DiffKey& key : keys) add_part(text, key.word);
  return text;
}

bool described_alike(const Node& a, const Node& b) { return a.description_bytes == b.description_bytes; }

class Comparison {
 public:
  Comparison(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way)
      : before_(before.subnet),
        after_(after.subnet),
        checks_(checks),
        way_(way),
        pairs_(after_, before_),
        reversed_(pairs_.reversed()),
        missed_then_(before_, before.failures != nullptr ? *before.failures : subnet::Failures(), after_, reversed_),
        missed_now_(after_, after.failures != nullptr ? *after.failures : subnet::Failures(), before_, pairs_) {}

  std::optional<NodeDifference> of_node(NodeIndex old_node) const {
    const NodeIndex new_node = pairs_.node_now(old_node);
    NodeDifference found{old_node, new_node, false, false, {}};
    if (new_node == none) return missed_now_.node(old_node) ? std::nullopt : std::optional(found);
    const Node &was = before_.node(old_node), &is = after_.node(new_node);
    if (!checks_.any_of_nodes()) return std::nullopt;
    const bool moved = was.kind() == subnet::NodeKind::sw && before_.lid(was.first_port) != after_.lid(is.first_port);
    found.head = (checks_.lids && moved) || (checks_.descriptions && !described_alike(was, is));
    found.num_ports = was.info.num_ports != is.info.num_ports;
    const bool compares_ports = way_ == DiffWay::links || checks_.ports || checks_.lids;
    for (unsigned number = 1; compares_ports && !found.num_ports && number <= was.info.num_ports; ++number) {
      if (const auto port = of_ports(was.first_port + number, is.first_port + number)) found.ports.push_back(*port);
    }
    if (!found.head && !found.num_ports && found.ports.empty()) return std::nullopt;
    return found;
  }
  bool is_new(NodeIndex new_node) const { return pairs_.node_then(new_node) == none && !missed_then_.node(new_node); }

 private:
  /// Of a port in both fabrics: the two nodes have one GUID, the two ports one number.
  std::optional<PortDifference> of_ports(PortIndex old_port, PortIndex new_port) const {
    const Port &was = before_.port(old_port), &is = after_.port(new_port);
    const bool has_old = was.is_known(), has_new = is.is_known(), has_both = has_old && has_new;
    const PortIndex old_peer = has_old ? was.peer : none, new_peer = has_new ? is.peer : none;
    if (new_peer == none && missed_now_.link(old_port)) return std::nullopt;
    if (old_peer == none && missed_then_.link(new_port)) return std::nullopt;
    const bool is_linked = old_peer != none && new_peer != none;
    const bool is_relinked = is_linked ? before_.port_guid(old_peer) != after_.port_guid(new_peer) : old_peer != new_peer;
    bool is_different = is_linked && checks_.ports && peers_differ(old_peer, new_peer);
    if (way_ == DiffWay::links) {
      is_different |= checks_.ports && (has_old != has_new || is_relinked);
      is_different |= checks_.states && has_both && was.state() != is.state();
      if (!is_different || (!has_old && !has_new)) return std::nullopt;
      return PortDifference{has_old ? old_port : none, has_new ? new_port : none};
    }
    is_different |= checks_.ports && (is_relinked || (is_linked && before_.port_guid(old_port) != after_.port_guid(new_port)));
    is_different |= checks_.lids && has_both && before_.lid(old_port) != after_.lid(new_port);
    // A port without a link has no line in a topology file.
    if (!is_different || (old_peer == none && new_peer == none)) return std::nullopt;
    return PortDifference{old_peer != none ? old_port : none, new_peer != none ? new_port : none};
  }

  /// Whether the node at the other end has another LID or description, and this is compared.
  bool peers_differ(PortIndex old_peer, PortIndex new_peer) const {
    if (checks_.lids && before_.lid(old_peer) != after_.lid(new_peer)) return true;
    return checks_.descriptions && !described_alike(before_.node(before_.port(old_peer).node), after_.node(after_.port(new_peer).node));
  }

  const Subnet &before_, &after_;
  const DiffChecks& checks_;
  DiffWay way_;
  subnet::Counterparts pairs_, reversed_;  ///< the nodes that both fabrics have
  subnet::Unseen missed_then_, missed_now_;
};

}  // namespace

void add_diff(OptionSet& set, DiffOptions& options) {
  set.text("--diff", options.file, "FILE",
           set.is_diags() ? "Print what is different from the fabric in this file of --cache."
                          : "Print what is different from the fabric in this file.");
  const std::string help = fmt::format("What --diff compares: some of {}, between commas.", listed(options.keys));
  set.value("--diffcheck", "KEYS", help, [&options, diags = set.is_diags()](const std::string& words) {
    const auto wrong = read_checks(words, options.keys, options.checks);
    if (wrong && diags) throw DiagsUsage(fmt::format("invalid diff check key: {}\n", *wrong));
    if (wrong) throw OptionError(fmt::format("--diffcheck does not know {}: it takes {}", in_quotes(*wrong), listed(options.keys)));
  });
}

std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way) {
  const Comparison comparison(before, after, checks, way);
  std::vector<NodeDifference> found;
  for (const NodeIndex at : before.nodes) {
    if (auto difference = comparison.of_node(at)) found.push_back(std::move(*difference));
  }
  for (const NodeIndex at : after.nodes) {
    if (comparison.is_new(at)) found.push_back({none, at, false, false, {}});
  }
  return found;
}

}  // namespace ib::tools
