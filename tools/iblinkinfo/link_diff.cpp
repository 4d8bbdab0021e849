// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/iblinkinfo/link_diff.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace ib::tools {
namespace {

using subnet::none;

constexpr DiffKey link_diff_keys[] = {
    {"port", &DiffChecks::ports},
    {"state", &DiffChecks::states},
    {"lid", &DiffChecks::lids},
    {"nodedesc", &DiffChecks::descriptions},
};

}  // namespace

DiffOptions link_diff_options() { return {link_diff_keys, {.ports = true, .states = true}}; }

void print_link_differences(std::string& out, const DiagsLinks& was, const DiffSide& before, const DiagsLinks& is, const DiffSide& after,
                            const DiffChecks& checks) {
  const auto number_of_ports = [&out](std::string_view side, const subnet::Node& node) {
    fmt::format_to(std::back_inserter(out), "{}numports = {}\n", side, node.info.num_ports);
  };
  for (const NodeDifference& found : differences(before, after, checks, DiffWay::links)) {
    if (found.after == none) {
      was.node(out, found.before, old_side);
      continue;
    }
    if (found.before == none) {
      is.node(out, found.after, new_side);
      continue;
    }
    bool headed = was.line;
    if (found.head && !headed) {
      was.heading(out, found.before, old_side);
      is.heading(out, found.after, new_side);
      headed = true;
    }
    const auto head = [&] {
      if (!std::exchange(headed, true)) was.heading(out, found.before);
    };
    if (found.num_ports) {
      head();
      number_of_ports(old_side, before.subnet.node(found.before));
      number_of_ports(new_side, after.subnet.node(found.after));
    }
    for (const PortDifference& port : found.ports) {
      head();
      if (port.before != none) was.port(out, port.before, old_side);
      if (port.after != none) is.port(out, port.after, new_side);
    }
  }
}

}  // namespace ib::tools
