// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as text: a healthy fabric is at most a screen, a finding is two or three lines that say what is wrong, what it costs, and what
// mends it.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"
#include "tools/check_routes/report.hpp"

namespace ib::tools::routes {

using routing::Fault;
using routing::GroupFault;
using routing::LoadSummary;
using routing::PlaceIndex;
using routing::Verdict;

namespace {

constexpr std::size_t most_names = 3;      // of the owners of LIDs
constexpr std::size_t most_findings = 20;  // as text; JSON has all
constexpr std::size_t most_loops = 3;

std::string counted(std::uint64_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

}  // namespace

std::string fold(std::span<const std::uint16_t> numbers, bool hex) {
  const auto number = [hex](unsigned value) { return hex ? fmt::format("{:#x}", value) : std::to_string(value); };
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + number(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + number(numbers[last]);
    i = last;
  }
  return text;
}

std::string RoutesReport::node_text(subnet::NodeIndex node) const {
  const subnet::Node& of = fabric.subnet.node(node);
  return fmt::format("{} {}", to_text(of.guid()), quoted(subnet::name_of(of, &fabric.names)));
}

std::string RoutesReport::place_text(PlaceIndex place) const {
  return fmt::format("port {} of {}", tables.network.port_at(place), node_text(node_at(place)));
}

std::string RoutesReport::lid_text(Lid lid) const {
  const subnet::PortIndex port = fabric.subnet.find_lid(lid);
  if (lid.is_multicast()) return fmt::format("MLID {:#x}", lid.value);
  if (port == subnet::none) return fmt::format("LID {}", lid.value);
  return fmt::format("LID {} {}", lid.value, quoted(subnet::name_of(fabric.subnet.node(fabric.subnet.port(port).node), &fabric.names)));
}

/// "LIDs 1-3, 7 ('node01', 'node02', …)"
std::string RoutesReport::lids_text(std::span<const std::uint16_t> lids) const {
  std::string names;
  for (std::size_t i = 0; i < lids.size() && i < most_names; ++i) {
    const subnet::PortIndex port = fabric.subnet.find_lid(Lid{lids[i]});
    if (port == subnet::none) continue;
    const std::string name = quoted(subnet::name_of(fabric.subnet.node(fabric.subnet.port(port).node), &fabric.names));
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  if (lids.size() > most_names) names += ", …";
  return fmt::format("{} {} ({})", lids.size() == 1 ? "LID" : "LIDs", fold(lids), names);
}

std::string RoutesReport::pair_text(const routing::Pair& pair) const {
  return fmt::format("{} to {}", lid_text(pair.slid), lid_text(pair.dlid));
}

std::string RoutesReport::cycle_text(const std::vector<routing::SwitchIndex>& cycle) const {
  std::string text;
  for (const routing::SwitchIndex at : cycle) text += node_text(tables.network.switches()[at].node) + ", ";
  return text + "and so on";
}

void RoutesReport::text(TextOut& out) const {
  if (wanted.wants_unicast()) {
    text_unicast(out);
    text_load(out);
    text_loops(out, *found.loops, "Credit loops");
  }
  if (found.multicast) text_multicast(out);
}

void RoutesReport::text_unicast(TextOut& out) const {
  const routing::Unicast& unicast = found.unicast;
  const std::uint64_t lost = unicast.pairs() - unicast.arrived() - unicast.unknown();
  const std::size_t switches = tables.network.switches().size();
  out.print("Unicast: {} from {}{} to {}: ", counted(unicast.pairs(), "pair"), counted(tables.network.hosts().size(), "host port"),
            wanted.switches ? fmt::format(" and {} switch{}", switches, switches == 1 ? "" : "es") : "",
            counted(tables.destinations.size(), "LID"));
  if (unicast.pairs() == unicast.arrived()) {
    out.write("all arrive.\n");
  } else {
    out.print("{} arrive, {} are lost{}.\n", unicast.arrived(), lost,
              unicast.unknown() == 0 ? "" : fmt::format(", of {} it is not known", unicast.unknown()));
  }
  const std::vector<const routing::Cause*> findings = unicast.findings();
  for (std::size_t i = 0; i < findings.size() && (i < most_findings); ++i) text_cause(out, *findings[i]);
  if (findings.size() > most_findings)
    out.print("  … and {}: --json has all.\n", counted(findings.size() - most_findings, "further finding"));
  for (const routing::Cause* cause : unicast.not_read()) {
    out.print("  not read: the table of {}: {}, {}.\n", node_text(node_at(cause->place)), lids_text(cause->lids),
              counted(cause->pairs, "pair"));
  }
  std::string hops;
  for (std::size_t count = 0; count < unicast.hops().size(); ++count) {
    if (unicast.hops()[count] > 0) hops += fmt::format("{}{}: {}", hops.empty() ? "" : ", ", count, unicast.hops()[count]);
  }
  out.print(
      "Hops: from port to port {} (links: pairs), {}.\n", hops.empty() ? "none" : hops,
      unicast.longer() == 0 ? "no way longer than the shortest" : counted(unicast.longer(), "pair") + " by a way longer than the shortest");
}

void RoutesReport::text_cause(TextOut& out, const routing::Cause& cause) const {
  const std::string lids = lids_text(cause.lids);
  std::string follows;
  switch (cause.fault) {
    case Fault::no_entry:
      out.print("  no_entry: {} has no entry for {}.\n", node_text(node_at(cause.place)), lids);
      follows = fmt::format("The subnet manager has not set it: compare ibtool ibroute {}; a heavy sweep mends it.",
                            tables.network.lid_of(tables.network.switch_at(cause.place)).value);
      break;
    case Fault::dead_port:
      out.print("  dead_port: {} has no link that is Active, and is the way to {}.\n", place_text(cause.place), lids);
      follows = "Look at the cable; if it is meant to be out, the subnet manager has not routed around it: a heavy sweep mends it.";
      break;
    case Fault::loop:
      out.print("  loop: {} in a circle: {}.\n", lids, cycle_text(cause.cycle));
      follows = "The tables of these switches contradict each other: a heavy sweep mends it. Until then such packets fill their links.";
      break;
    case Fault::wrong_node:
      out.print("  wrong_node: {} is the way to {}, and does not lead there.\n", place_text(cause.place), lids);
      follows = "The entry, or the LID of the port behind it, is of another time: a heavy sweep mends it.";
      break;
    case Fault::not_read:
    case Fault::arrives:
      break;
  }
  out.print("    {}, for example {}.\n    {}\n", counted(cause.pairs, "lost pair"), pair_text(cause.example), follows);
}

void RoutesReport::text_load(TextOut& out) const {
  const LoadSummary links = found.load.switch_links();
  if (links.directions > 0) {
    out.print("Load: links between switches carry {} to {} routes in one direction, {:.1f} on average", links.least, links.greatest,
              links.mean());
    if (links.unused > 0) out.print("; {} carry nothing", links.unused);
    if (static_cast<double>(links.greatest) > links.mean()) {
      out.print("; most, {:.2f} times the average, {}", static_cast<double>(links.greatest) / links.mean(), place_text(links.greatest_at));
    }
    out.write(".\n");
  }
  if (!wanted.load) return;
  const auto row = [&out](std::string_view kind, const LoadSummary& sum) {
    out.print("  {:<22} {:>8} {:>10} {:>10} {:>12.1f} {:>8}\n", kind, sum.directions, sum.least, sum.greatest, sum.mean(), sum.unused);
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
  for (PlaceIndex place = 0; place < tables.network.place_count(); ++place) {
    if (tables.network.wire(place).carries())
      out.print("  {:>10} {:>8}  {}\n", found.load.routes(place), found.load.lids(place), place_text(place));
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
    out.print("    {}{}, held by packets from {}\n", place_text(channel.place), channel.vl ? fmt::format(" VL {}", *channel.vl) : "",
              pair_text(loop.witnesses[i]));
  }
  if (loop.needs_aggregation) out.write("    Without the routes between Aggregation Nodes there would be no circle.\n");
}

void RoutesReport::text_multicast(TextOut& out) const {
  const routing::Multicast& multicast = *found.multicast;
  if (multicast.groups() == 0) return out.write("Multicast: no groups.\n");
  out.print("Multicast: {} with {}:", counted(multicast.groups(), "MLID"), counted(multicast.members(), "member"));
  const auto findings = multicast.findings();
  out.write(findings.empty() && multicast.not_read().empty() ? " all reach each other, by trees.\n" : "\n");
  for (std::size_t i = 0; i < findings.size() && i < most_findings; ++i) text_group_cause(out, *findings[i]);
  if (findings.size() > most_findings)
    out.print("  … and {}: --json has all.\n", counted(findings.size() - most_findings, "further finding"));
  for (const routing::GroupCause* cause : multicast.not_read()) {
    out.print("  not read: {} beyond {}.\n", fold(cause->mlids, true), node_text(node_at(cause->place)));
  }
  text_loops(out, *found.multicast_loops, "Credit loops with multicast");
}

void RoutesReport::text_group_cause(TextOut& out, const routing::GroupCause& cause) const {
  const std::string groups = fmt::format("{} {}", cause.mlids.size() == 1 ? "MLID" : "MLIDs", fold(cause.mlids, true));
  switch (cause.fault) {
    case GroupFault::loop:
      out.print("  loop: the entries of {} make no tree: {}.\n    Packets arrive twice, or go round for ever: a heavy sweep mends it.\n",
                groups, cycle_text(cause.cycle));
      break;
    case GroupFault::dead_port:
      out.print("  dead_port: {} has no link that is Active, and is an entry of {}.\n", place_text(cause.place), groups);
      break;
    case GroupFault::no_entry:
      out.print("  no_entry: packets of {} come to {}, which has no entry for them.\n", groups, node_text(node_at(cause.place)));
      break;
    case GroupFault::not_reached:
      out.print("  not_reached: of {} {} of members get nothing: {} is the first; for example from {}.\n", groups,
                counted(cause.pairs, "pair"), place_text(cause.place), pair_text(*cause.example));
      break;
    case GroupFault::not_read:
      break;
  }
}

}  // namespace ib::tools::routes
