// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/chosen_nodes.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/name_match.hpp"

namespace ib::tools {
namespace {

void add_matches(const Fabric& fabric, const TargetPort& pattern, std::vector<ChosenNode>& to) {
  const NameWord word(pattern.target.text());
  const std::size_t before = to.size();
  for (const subnet::NodeIndex node : subnet::breadth_first(fabric.subnet)) {
    const std::string name(subnet::name_of(fabric.subnet.node(node), &fabric.names));
    const bool fits = word.match(name) != NameMatch::none || word.match(fabric.subnet.node(node).description()) != NameMatch::none;
    if (fits) to.push_back({node, name, pattern.port});
  }
  if (to.size() == before) throw UsageError(fmt::format("no node's name fits {}", in_quotes(pattern.target.text())));
}

}  // namespace

std::vector<ChosenNode> chosen_nodes(const Fabric& fabric, const std::vector<TargetPort>& targets) {
  std::vector<ChosenNode> chosen;
  if (targets.empty()) {
    for (const subnet::NodeIndex node : subnet::breadth_first(fabric.subnet)) chosen.push_back({node});
  }
  for (const TargetPort& one : targets) {
    if (one.target.path) {
      chosen.push_back({fabric.subnet.port(subnet::get_port(fabric, *one.target.path)).node, one.target.text(), one.port});
    } else {
      add_matches(fabric, one, chosen);
    }
  }
  return chosen;
}

}  // namespace ib::tools
