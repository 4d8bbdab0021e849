// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The differences between a fabric and a stored fabric: the options --diff and --diffcheck, and the comparison, whose result is data. Each
// command prints the result in its own form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// What begins a line of one of the two fabrics that are compared, as in diff(1).
inline constexpr std::string_view old_side = "< ", new_side = "> ";

struct DiffChecks {
  bool switches{}, cas{}, routers{};  ///< the kinds of nodes, for commands that use them
  bool ports{};                       ///< the ports at the other ends of links
  bool states{};                      ///< PortState
  bool lids{}, descriptions{};        ///< of nodes, and with `ports` also of the nodes at the other ends of links

  bool any_of_nodes() const { return ports || states || lids || descriptions; }
};

struct DiffKey {
  std::string_view word;
  bool DiffChecks::*check;
};

/// The options of a command that compares. `keys` are the words that it knows. `checks` are at first its default checks.
struct DiffOptions {
  std::span<const DiffKey> keys;
  DiffChecks checks;
  std::optional<std::string> file{};  ///< the file of --diff
};

void add_diff(OptionSet& set, DiffOptions& options);

/// One of the two fabrics that are compared, with the nodes that are compared, in their order.
struct DiffSide {
  const subnet::Subnet& subnet;
  std::vector<subnet::NodeIndex> nodes;
  /// What the sweep of this fabric may have missed (subnet::Unseen) is not a difference. Null: it is one, as in infiniband-diags.
  const subnet::Failures* failures{};
};

struct PortDifference {
  subnet::PortIndex before = subnet::none, after = subnet::none;  ///< none: not printed
};

struct NodeDifference {
  subnet::NodeIndex before = subnet::none, after = subnet::none;  ///< if one of them is none, the node is new or is gone
  bool head{};                                                    ///< the LID or the description differs
  bool num_ports{};                                               ///< the number of ports differs; then ports are not compared
  std::vector<PortDifference> ports;
};

/// ibnetdiscover also compares GUIDs and LIDs of ports, and prints a lost or new link on one side; iblinkinfo compares states.
enum class DiffWay : std::uint8_t { topology, links };

/// The nodes of `before` that are gone or different, then the new ones of `after`. A node is identified by its GUID.
std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way);

}  // namespace ib::tools
