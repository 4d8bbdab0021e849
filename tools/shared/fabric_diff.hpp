// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is different in a fabric, set against a stored one: the options --diff and --diffcheck, and the comparison as data. Commands print
// it each in its own form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model.hpp"
#include "tools/frame/diags_options.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// What is compared.
struct DiffChecks {
  bool switches{}, cas{}, routers{};  ///< which nodes; for those who ask
  bool ports{};                       ///< what ports are linked to
  bool states{};                      ///< PortState
  bool lids{}, descriptions{};        ///< of nodes, and with `ports` of what is at the other end of a link

  bool any_of_nodes() const { return ports || states || lids || descriptions; }
};

/// A word of --diffcheck.
struct DiffKey {
  std::string_view word;
  bool DiffChecks::*check;
};

/// The options of a command that compares. `keys` are those that it knows, `checks` at first those that it does by itself.
struct DiffOptions {
  DiffOptions(std::span<const DiffKey> known, const DiffChecks& by_default) : keys(known), checks(by_default) {}

  std::span<const DiffKey> keys;
  DiffChecks checks;
  std::optional<std::string> file;  ///< of --diff
};

void add_diff(OptionSet& set, DiffOptions& options);
void add_diff(DiagsOptions& set, DiffOptions& options);

/// One of the two fabrics that are compared, and the nodes of it that are looked at, in their order.
struct DiffSide {
  const subnet::Subnet& subnet;
  std::vector<subnet::NodeIndex> nodes;
};

struct PortDifference {
  subnet::PortIndex before = subnet::none, after = subnet::none;  ///< none: not to be shown
};

struct NodeDifference {
  subnet::NodeIndex before = subnet::none, after = subnet::none;  ///< one of them is none: the node is new, or gone
  bool head{};                                                    ///< its LID or its description
  bool num_ports{};                                               ///< how many ports it has; then no port is compared
  std::vector<PortDifference> ports;
};

/// How ports are compared: ibnetdiscover shows a link that is lost or new on its own side alone and compares GUIDs and LIDs of the ports
/// too, iblinkinfo shows both sides and compares states.
enum class DiffWay : std::uint8_t { topology, links };

/// The nodes of `before` that are gone or different, then those of `after` that are new. A node is known by its GUID, an entry has
/// something to show.
std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way);

/// Whether libibnetdisc would keep a port: it was read, or a link leads to it.
bool is_known(const subnet::Port& port);

}  // namespace ib::tools
