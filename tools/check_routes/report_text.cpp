// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as text: a healthy fabric is at most a screen, a finding is two or three lines that say what is wrong, what it costs, and what
// fixes it.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"
#include "tools/check_routes/routes.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/terminal.hpp"

namespace ib::tools::routes {

using routing::Fault;
using routing::LoadSummary;
using routing::PortId;
using routing::Verdict;

namespace {

constexpr std::size_t most_names = 3;      // of the owners of LIDs
constexpr std::size_t most_findings = 20;  // as text; JSON has all
constexpr std::size_t most_loops = 3;
constexpr std::size_t most_ranges = 10;   // of LIDs
constexpr std::size_t most_switches = 8;  // of a circle

std::string counted(std::uint64_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

/// Prints each cause, but not endlessly.
template <class Print>
void print_causes(TextOut& out, const std::vector<const routing::Cause*>& causes, bool are_read, Print print) {
  for (std::size_t i = 0; i < causes.size() && i < most_findings; ++i) print(*causes[i]);
  if (causes.size() <= most_findings) return;
  const std::size_t rest = causes.size() - most_findings;
  out.print("  … and {}: --json has all.\n", are_read ? counted(rest, "further finding") : fmt::format("{} not read", rest));
}

/// "1-4, 7, 9": numbers in ascending order as ranges, in hexadecimal for MLIDs. At most ten ranges, then how many numbers more there are.
std::string fold(std::span<const std::uint16_t> numbers, bool hex = false) {
  const auto number = [hex](unsigned value) { return hex ? fmt::format("{:#x}", value) : std::to_string(value); };
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (++ranges > most_ranges) return text + fmt::format(", … and {} more (--json)", numbers.size() - i);
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + number(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + number(numbers[last]);
    i = last;
  }
  return text;
}

}  // namespace

std::string RoutesReport::name_text(subnet::NodeIndex node) const {
  return in_quotes(subnet::name_of(fabric.subnet.node(node), &fabric.names));
}

std::string RoutesReport::node_text(subnet::NodeIndex node) const {
  return fmt::format("{} {}", to_text(fabric.subnet.node(node).guid()), name_text(node));
}

std::string RoutesReport::port_text(PortId port_id) const {
  return fmt::format("port {} of {}", tables.network.port_at(port_id), node_text(node_at(port_id)));
}

std::string RoutesReport::lid_text(Lid lid) const {
  const subnet::PortIndex port = fabric.subnet.find_lid(lid);
  if (lid.is_multicast()) return fmt::format("MLID {:#x}", lid.value);
  if (port == subnet::none) return fmt::format("LID {}", lid.value);
  return fmt::format("LID {} {}", lid.value, name_text(fabric.subnet.port(port).node));
}

/// What was not read at a port: the table of the switch, what is behind its port, or a table on the route to a host.
std::string RoutesReport::unread_text(PortId port_id) const {
  if (tables.network.is_host_port(port_id)) return "a table on the way to " + port_text(port_id);
  return tables.network.port_at(port_id) == 0 ? "the table of " + node_text(node_at(port_id)) : "what is behind " + port_text(port_id);
}

/// Whether a port that ends routes has one of these LIDs, which belong to others: two ports claim it.
bool RoutesReport::is_claimed_behind(PortId port_id, std::span<const std::uint16_t> lids) const {
  const routing::Network& network = tables.network;
  unsigned first = 0, last = 0;
  if (const routing::Wire& wire = network.wire(port_id); wire.to == routing::Wire::To::host) {
    const routing::Host& host = network.hosts()[wire.index];
    first = host.base.value;
    last = first + (1U << host.lmc) - 1;
  } else if (!network.is_host_port(port_id) && network.port_at(port_id) == 0) {
    first = last = network.lid_of(network.switch_at(port_id)).value;
  }
  return std::ranges::any_of(lids, [&](std::uint16_t lid) { return lid >= first && lid <= last; });
}

/// "LIDs 1-3, 7 ('node01', 'node02', …)"
std::string RoutesReport::lids_text(std::span<const std::uint16_t> lids) const {
  std::string names;
  for (std::size_t i = 0; i < lids.size() && i < most_names; ++i) {
    const subnet::PortIndex port = fabric.subnet.find_lid(Lid{lids[i]});
    if (port == subnet::none) continue;
    const std::string name = name_text(fabric.subnet.port(port).node);
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  if (lids.size() > most_names) names += ", …";
  return fmt::format("{} {} ({})", lids.size() == 1 ? "LID" : "LIDs", fold(lids), names);
}

std::string RoutesReport::mlids_text(std::span<const std::uint16_t> mlids) {
  return fmt::format("{} {}", mlids.size() == 1 ? "MLID" : "MLIDs", fold(mlids, true));
}

std::string RoutesReport::pair_text(const routing::Pair& pair) const {
  return fmt::format("{} to {}", lid_text(pair.slid), lid_text(pair.dlid));
}

std::string RoutesReport::cycle_text(const std::vector<routing::SwitchIndex>& cycle) const {
  std::string text;
  for (std::size_t i = 0; i < cycle.size() && i < most_switches; ++i) text += node_text(tables.network.switches()[cycle[i]].node) + ", ";
  if (cycle.size() > most_switches) text += fmt::format("… {} more (--json), ", cycle.size() - most_switches);
  return text + "and so on";
}

void RoutesReport::text(TextOut& out) const {
  if (checks.wants_unicast()) {
    text_unicast(out);
    text_load(out);
    text_loops(out, *found.loops, "Credit loops");
  }
  if (found.multicast) text_multicast(out);
  if (tables.skips_multicast && checks.wants_multicast()) out.write("Multicast: skipped: what was given has no multicast tables.\n");
  text_adaptive(out);
}

void RoutesReport::text_unicast(TextOut& out) const {
  const routing::Unicast& unicast = found.unicast;
  const std::uint64_t lost = unicast.pairs() - unicast.arrived() - unicast.unknown();
  const std::size_t switches = tables.network.switches_with_lid();
  out.print("Unicast: {} from {}{} to {}: ", counted(unicast.pairs(), "pair"), counted(tables.network.hosts().size(), "host port"),
            checks.switches ? fmt::format(" and {} switch{}", switches, switches == 1 ? "" : "es") : "",
            counted(tables.destinations.size(), "LID"));
  if (unicast.pairs() == 0) {
    out.write("nothing to check.\n");
  } else if (unicast.pairs() == unicast.arrived()) {
    out.write("all arrive.\n");
  } else {
    out.print("{} arrive, {} are lost{}.\n", unicast.arrived(), lost,
              unicast.unknown() == 0 ? "" : fmt::format(", of {} it is not known", unicast.unknown()));
  }
  if (const std::size_t count = tables.network.without_lid(); count > 0) {
    out.print("  not read: {} with an Active link: {} no LID, so that nothing is known of the ways there.\n", counted(count, "end port"),
              count == 1 ? "it has" : "they have");
  }
  print_causes(out, unicast.findings(), true, [&](const routing::Cause& cause) { text_cause(out, cause); });
  print_causes(out, unicast.not_read(), false, [&](const routing::Cause& cause) {
    out.print("  not read: {}: {}, {}.\n", unread_text(cause.port_id), lids_text(cause.lids), counted(cause.pairs, "pair"));
  });
  std::string hops;
  for (std::size_t count = 0; count < unicast.hops().size(); ++count) {
    if (unicast.hops()[count] > 0) hops += fmt::format("{}{}: {}", hops.empty() ? "" : ", ", count, unicast.hops()[count]);
  }
  if (hops.empty()) {
    out.write("Hops: none: no pair is known to arrive.\n");
    return;
  }
  out.print("Hops: from port to port {} (links: pairs), {}.\n", hops,
            unicast.longer() == 0 ? "no route longer than the shortest"
                                  : counted(unicast.longer(), "pair") + " by a route longer than the shortest");
}

void RoutesReport::text_cause(TextOut& out, const routing::Cause& cause) const {
  const std::string lids = lids_text(cause.lids);
  std::string follows;
  switch (cause.fault) {
    case Fault::no_entry:
      out.print("  no_entry: {} has no entry for {}.\n", node_text(node_at(cause.port_id)), lids);
      follows = fmt::format("The subnet manager has not set it: compare ibtool ibroute {}; a heavy sweep fixes it.",
                            tables.network.lid_of(tables.network.switch_at(cause.port_id)).value);
      break;
    case Fault::dead_port:
      out.print("  dead_port: {} has no link that is Active, and is the way to {}.\n", port_text(cause.port_id), lids);
      follows = "Look at the cable; if it is meant to be out, the subnet manager has not routed around it: a heavy sweep fixes it.";
      break;
    case Fault::loop:
      out.print("  loop: {} in a circle: {}.\n", lids, cycle_text(cause.cycle));
      follows = "The tables of these switches contradict each other: a heavy sweep fixes it. Until then such packets fill their links.";
      break;
    case Fault::wrong_node:
      out.print("  wrong_node: {} is the way to {}, and does not lead there.\n", port_text(cause.port_id), lids);
      follows = is_claimed_behind(cause.port_id, cause.lids)
                    ? "The port there claims this LID too, and one of the two gets nothing: a subnet manager has to give it another one."
                    : "The entry, or the LID of the port behind it, is out of date: a heavy sweep fixes it.";
      break;
    default:
      break;
  }
  out.print("    {}, for example {}.\n    {}\n", counted(cause.pairs, "lost pair"), pair_text(cause.example), follows);
}

void RoutesReport::text_load(TextOut& out) const {
  const LoadSummary links = found.load.switch_links();
  // Routes that are not known may use any link: nothing is said of links that carry nothing, and of the one that carries most.
  const bool knows_all = found.unicast.unknown() == 0;
  if (links.directions > 0) {
    const std::string known = knows_all ? "" : fmt::format("of the {} that are known, ", counted(found.unicast.arrived(), "route"));
    out.print("Load: {}links between switches carry {} to {}{} in one direction, {:.1f} on average", known, links.least, links.greatest,
              knows_all ? " routes" : "", links.mean());
    if (knows_all && links.unused > 0) out.print("; {} carry nothing", links.unused);
    if (knows_all && static_cast<double>(links.greatest) > links.mean()) {
      out.print("; most, {:.2f} times the average, {}", static_cast<double>(links.greatest) / links.mean(), port_text(links.greatest_at));
    }
    out.write(".\n");
  }
  if (!checks.load) return;
  const auto row = [&out, knows_all](std::string_view kind, const LoadSummary& sum) {
    const std::string unused = knows_all ? std::to_string(sum.unused) : "?";
    out.print("  {:<22} {:>8} {:>10} {:>10} {:>12.1f} {:>8}\n", kind, sum.directions, sum.least, sum.greatest, sum.mean(), unused);
  };
  out.print("  {:<22} {:>8} {:>10} {:>10} {:>12} {:>8}\n", "kind", "number", "least", "greatest", "mean", "unused");
  row("host", found.load.host_links());
  row("switch", links);
  const std::vector<LoadSummary> tiers = found.load.tiers();
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::size_t lower = i / 2, upper = lower + 1;
    row(i % 2 == 0 ? fmt::format("tier {} to {}", lower, upper) : fmt::format("tier {} to {}", upper, lower), tiers[i]);
  }
  out.print("  {:>10} {:>8}  port\n", "routes", "LIDs");
  for (PortId port_id = 0; port_id < tables.network.port_id_count(); ++port_id) {
    if (tables.network.wire(port_id).carries())
      out.print("  {:>10} {:>8}  {}\n", found.load.routes(port_id), found.load.lids(port_id), port_text(port_id));
  }
}

void RoutesReport::text_loops(TextOut& out, const routing::CreditLoops& loops, std::string_view what) const {
  out.print("{}: ", what);
  switch (loops.verdict) {
    case Verdict::free:
      out.print("none is possible, whichever SL is used ({}, {}).\n", counted(loops.channel_count, "channel"),
                counted(loops.edge_count, "edge"));
      break;
    case Verdict::free_for_used_sls:
      out.write("none is possible with the SLs in use.\n");
      break;
    case Verdict::possible:
      out.print("possible: the SLs of {} are not known; see --sl, --psl and --ask-sa.\n",
                loops.unknown_pairs == 0 ? "multicast groups" : counted(loops.unknown_pairs, "pair"));
      break;
    case Verdict::found:
      out.write("found: packets can wait for each other in a circle, and none of them moves again.\n");
      break;
    case Verdict::not_read:
      out.print("not known: {} were not read.\n", loops.loops.empty() ? "forwarding tables" : "SLtoVL mapping tables, which decide,");
      break;
  }
  for (std::size_t i = 0; i < loops.loops.size() && i < most_loops; ++i) text_loop(out, loops.loops[i]);
  if (loops.loops.size() > most_loops) out.print("  … and {}: --json has all.\n", counted(loops.loops.size() - most_loops, "further set"));
}

void RoutesReport::text_loop(TextOut& out, const routing::CreditLoop& loop) const {
  out.print("  {} that wait for each other; a shortest circle of them:\n", counted(loop.channels, "channel"));
  for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
    const routing::LoopChannel& channel = loop.cycle[i];
    out.print("    {}{}, held by packets from {}\n", port_text(channel.port_id), channel.vl ? fmt::format(" VL {}", *channel.vl) : "",
              pair_text(loop.witnesses[i]));
  }
  if (loop.needs_aggregation) out.write("    Without the routes between Aggregation Nodes there would be no circle.\n");
}

void RoutesReport::text_adaptive(TextOut& out) const {
  std::size_t on = 0, unread = 0;
  std::string names;
  for (routing::SwitchIndex at = 0; at < tables.adaptive.size(); ++at) {
    if (tables.adaptive[at] == routing::Adaptive::not_read) ++unread;
    if (tables.adaptive[at] != routing::Adaptive::on) continue;
    const std::string name = name_text(tables.network.switches()[at].node);
    if (++on <= most_names) names += (on == 1 ? "" : ", ") + name;
  }
  const std::size_t all = tables.adaptive.size();
  if (on > 0) {
    out.print("Static tables only: adaptive routing is on at {} of {} switches ({}{}), which send packets other ways too.\n", on, all,
              names, on > most_names ? ", …" : "");
  }
  if (unread > 0) out.print("Static tables only: whether adaptive routing is on is not known at {} of {} switches.\n", unread, all);
}

void RoutesReport::text_multicast(TextOut& out) const {
  const routing::Multicast& multicast = *found.multicast;
  const std::size_t unread_switches = tables.multicast.unread_count(), all_switches = tables.network.switches().size();
  const std::string unread_tables = unread_switches == all_switches
                                        ? fmt::format("the multicast tables of all switches, {}", all_switches)
                                        : fmt::format("the multicast tables of {} of {} switches", unread_switches, all_switches);
  if (multicast.groups() == 0) {
    if (unread_switches > 0) return out.print("Multicast: not read: {}; --unicast leaves them out.\n", unread_tables);
    return out.write(tables.lacks_groups ? "Multicast: no groups in the tables; those of the subnet administrator are not known.\n"
                                         : "Multicast: no groups.\n");
  }
  out.print("Multicast: {} with {}:", counted(multicast.groups(), "MLID"), counted(multicast.members(), "member"));
  const auto findings = multicast.findings();
  out.write(findings.empty() && multicast.not_read().empty() && unread_switches == 0 ? " all reach each other, by trees.\n" : "\n");
  if (unread_switches > 0) out.print("  not read: {}.\n", unread_tables);
  if (const std::size_t count = tables.groups.strange.size(); count > 0) {
    out.print("  not checked: {} that the subnet administrator names, whose {} here, as of virtual ports.\n", counted(count, "member"),
              count == 1 ? "GUID no port has" : "GUIDs no ports have");
  }
  print_causes(out, findings, true, [&](const routing::Cause& cause) { text_group_cause(out, cause); });
  print_causes(out, multicast.not_read(), false, [&](const routing::Cause& cause) {
    out.print("  not read: {}: {}.\n", unread_text(cause.port_id), mlids_text(cause.lids));
  });
  const bool are_trees = std::ranges::none_of(findings, [](const routing::Cause* cause) { return cause->fault == Fault::loop; });
  text_loops(out, *found.multicast_loops,
             are_trees ? "Credit loops with multicast" : "Credit loops with multicast, of the groups that are trees");
}

void RoutesReport::text_group_cause(TextOut& out, const routing::Cause& cause) const {
  const std::string groups = mlids_text(cause.lids);
  switch (cause.fault) {
    case Fault::loop:
      out.print("  loop: the entries of {} form no tree: {}.\n    Packets arrive twice, or circulate for ever: a heavy sweep fixes it.\n",
                groups, cycle_text(cause.cycle));
      break;
    case Fault::dead_port:
      out.print(
          "  dead_port: {} has no link that is Active, and is an entry of {}.\n"
          "    What was behind it gets nothing: the subnet manager has not taken it out of the tree; a heavy sweep does.\n",
          port_text(cause.port_id), groups);
      break;
    case Fault::no_entry:
      if (cause.missing_port) {
        out.print(
            "  no_entry: an entry of {} of {} names port {}, which the switch does not have.\n"
            "    What was meant to go there gets nothing: compare ibtool ibroute -M {}; a heavy sweep fixes it.\n",
            groups, node_text(node_at(cause.port_id)), *cause.missing_port,
            tables.network.lid_of(tables.network.switch_at(cause.port_id)).value);
        break;
      }
      out.print(
          "  no_entry: packets of {} come to {}, which has no entry for them.\n"
          "    They end there: compare ibtool ibroute -M {}; a heavy sweep fixes it.\n",
          groups, node_text(node_at(cause.port_id)), tables.network.lid_of(tables.network.switch_at(cause.port_id)).value);
      break;
    case Fault::not_reached:
      out.print(
          "  not_reached: of {} {} of members get nothing: {} is the first; for example from {}.\n"
          "    Its switch is not in the tree, or not its port: compare ibtool ibtracert -m {:#x}; a heavy sweep fixes it.\n",
          groups, counted(cause.pairs, "pair"), port_text(cause.port_id), pair_text(cause.example), cause.lids.front());
      break;
    default:
      break;
  }
}

}  // namespace ib::tools::routes
