// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as JSON and as text: in text a healthy fabric is at most a screen, a finding is two or three lines that say what is wrong,
// what it costs, and what fixes it.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"
#include "tools/check_routes/routes.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools::routes {
namespace {

using routing::Fault;
using routing::LoadSummary;
using routing::PortId;
using routing::Verdict;

constexpr std::size_t most_names = 3;      // of the owners of LIDs
constexpr std::size_t most_findings = 20;  // as text; JSON has all
constexpr std::size_t most_loops = 3;
constexpr std::size_t most_ranges = 10;   // of LIDs
constexpr std::size_t most_switches = 8;  // of a circle

std::string counted(std::uint64_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

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
    add_part(text, number(numbers[i]));
    if (last > i) text += (last == i + 1 ? ", " : "-") + number(numbers[last]);
    i = last;
  }
  return text;
}

void visit_pair(report::Sink& sink, std::string_view key, const routing::Pair& pair) {
  sink.begin_object(key);
  sink.value("slid", pair.slid);
  sink.value("dlid", pair.dlid);
  sink.end_object();
}

struct RoutesReport final : FabricReport {
  RoutesReport(const Fabric& of, const RouteChecks& what, const Tables& read, const RouteFindings& was_found)
      : FabricReport(of), checks(what), tables(read), found(was_found) {}

  void visit(report::Sink& sink) const override {
    if (checks.wants_unicast()) {
      visit_unicast(sink);
      if (checks.load) visit_load(sink);
      visit_loops(sink, *found.loops);
    }
    if (found.multicast) visit_multicast(sink);
    if (tables.skips_multicast && checks.wants_multicast()) sink.null("multicast");
    visit_adaptive(sink);
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    if (checks.wants_unicast()) {
      text_unicast(out);
      text_load(out);
      text_loops(out, *found.loops, "Credit loops");
    }
    if (found.multicast) text_multicast(out);
    if (tables.skips_multicast && checks.wants_multicast()) out.write("Multicast: skipped: what was given has no multicast tables.\n");
    text_adaptive(out);
  }

  Exit status() const override {
    const auto has = [this](Verdict verdict) {
      return (found.loops && found.loops->verdict == verdict) || (found.multicast_loops && found.multicast_loops->verdict == verdict);
    };
    const bool lost = checks.wants_unicast() && !found.unicast.findings().empty();
    const bool lost_groups = found.multicast && !found.multicast->findings().empty();
    if (lost || lost_groups || has(Verdict::found) || has(Verdict::possible)) return Exit::findings;
    const bool lacks_lids = tables.destinations.empty() || tables.network.without_lid() > 0;
    const bool unread =
        (checks.wants_unicast() && (lacks_lids || !found.unicast.not_read().empty())) ||
        (found.multicast && (tables.multicast.unread_count() > 0 || !found.multicast->not_read().empty() || !tables.why_no_groups.empty()));
    if (unread || has(Verdict::not_read)) return Exit::incomplete;
    return FabricReport::status();
  }

  const RouteChecks& checks;
  const Tables& tables;
  const RouteFindings& found;

 private:
  template <class Pairs>
  void visit_causes(report::Sink& sink, const Pairs& of) const {
    sink.objects("findings", of.findings(), [&](const routing::Cause* cause) { visit_cause(sink, *cause); });
    sink.objects("not_read", of.not_read(), [&](const routing::Cause* cause) { visit_cause(sink, *cause); });
  }
  subnet::NodeIndex node_at(PortId port_id) const { return fabric.subnet.port(tables.network.port_of(port_id)).node; }

  void visit_unicast(report::Sink& sink) const {
    const routing::Unicast& unicast = found.unicast;
    sink.begin_object("unicast");
    sink.value("lid_count", tables.destinations.size());
    sink.value("source_count", tables.network.hosts().size() + (checks.switches ? tables.network.switches_with_lid() : 0));
    sink.value("no_lid_count", tables.network.without_lid());
    sink.value("pair_count", unicast.pairs());
    sink.value("arrived_count", unicast.arrived());
    sink.value("longer_count", unicast.longer());
    sink.value("unknown_count", unicast.unknown());
    visit_causes(sink, unicast);
    sink.end_object();
    sink.begin_array("hop_histogram");
    for (std::size_t hops = 0; hops < unicast.hops().size(); ++hops) {
      if (unicast.hops()[hops] == 0) continue;
      sink.begin_object();
      sink.value("hop_count", hops);
      sink.value("pair_count", unicast.hops()[hops]);
      sink.end_object();
    }
    sink.end_array();
  }

  void visit_cause(report::Sink& sink, const routing::Cause& cause) const {
    sink.value("fault", routing::name(cause.fault));
    if (cause.fault == Fault::loop || cause.port_id == routing::none) {
      sink.null("node_guid");
      sink.no_symbol("node_type");
      for (const char* member : {"node_description", "node_name", "port_num"}) sink.null(member);
    } else {
      visit_names(sink, node_at(cause.port_id));
      sink.value("port_num", cause.missing_port ? *cause.missing_port : tables.network.port_at(cause.port_id));
    }
    sink.values("lids", cause.lids);
    sink.value("pair_count", cause.pairs);
    cause.pairs > 0 ? visit_pair(sink, "example", cause.example) : sink.null("example");
    sink.objects("cycle", cause.cycle, [&](const routing::SwitchIndex at) { visit_names(sink, tables.network.switches()[at].node); });
  }

  void visit_load(report::Sink& sink) const {
    const auto visit_members = [&, knows_all = found.unicast.unknown() == 0](const LoadSummary& sum) {  // see text_load()
      sink.value_or_null("least", knows_all, sum.least);
      sink.value_or_null("greatest", knows_all, sum.greatest);
      sink.value_or_null("mean", knows_all, sum.mean());
      sink.value_or_null("unused", knows_all, sum.unused);
    };
    sink.begin_object("load");
    visit_links(sink);
    for (const auto& [key, sum] : {std::pair("switch_links", found.load.switch_links()), {"host_links", found.load.host_links()}}) {
      sink.begin_object(key);
      visit_members(sum);
      sink.end_object();
    }
    std::size_t row = 0;
    sink.objects("tiers", found.load.tiers(), [&](const LoadSummary& sum) {
      sink.value("tier", row / 2);
      sink.value("is_upward", row++ % 2 == 0);
      visit_members(sum);
    });
    sink.end_object();
  }

  void visit_links(report::Sink& sink) const {
    const routing::Network& network = tables.network;
    sink.begin_array("links");
    for (PortId port_id = 0; port_id < network.port_id_count(); ++port_id) {
      if (!network.wire(port_id).carries()) continue;
      const bool is_host = network.is_host_port(port_id) || network.wire(port_id).to != routing::Wire::To::switch_port;
      sink.begin_object();
      sink.value("node_guid", fabric.subnet.node(node_at(port_id)).guid());
      sink.value("port_num", network.port_at(port_id));
      sink.value("link_kind", is_host ? "host" : "switch");
      sink.value("route_count", found.load.routes(port_id));
      sink.value("lid_count", found.load.lids(port_id));
      sink.end_object();
    }
    sink.end_array();
  }

  void visit_loops(report::Sink& sink, const routing::CreditLoops& loops) const {
    sink.begin_object("credit_loops");
    sink.value("verdict", routing::name(loops.verdict));
    sink.value("channel_count", loops.channel_count);
    sink.value("edge_count", loops.edge_count);
    sink.value("unknown_count", loops.unknown_pairs);
    sink.objects("loops", loops.loops, [&](const routing::CreditLoop& loop) {
      sink.value("channel_count", loop.channels);
      sink.value("needs_aggregation", loop.needs_aggregation);
      sink.objects("channels", loop.cycle, [&](const routing::LoopChannel& channel) {
        visit_names(sink, node_at(channel.port_id));
        sink.value("port_num", tables.network.port_at(channel.port_id));
        sink.value("vl", channel.vl);
      });
      sink.array("witnesses", loop.witnesses, [&](const routing::Pair& pair) { visit_pair(sink, {}, pair); });
    });
    sink.end_object();
  }

  void visit_adaptive(report::Sink& sink) const {
    sink.begin_array("adaptive_routing");
    for (routing::SwitchIndex at = 0; at < tables.adaptive.size(); ++at) {
      if (tables.adaptive[at] == routing::Adaptive::off) continue;
      sink.begin_object();
      visit_names(sink, tables.network.switches()[at].node);
      sink.value_or_null("is_on", tables.adaptive[at] == routing::Adaptive::on, true);
      sink.end_object();
    }
    sink.end_array();
  }

  void visit_multicast(report::Sink& sink) const {
    sink.begin_object("multicast");
    sink.value("mlid_count", found.multicast->groups());
    sink.value("member_count", found.multicast->members());
    sink.value_or_null("unresolved_count", tables.why_no_groups.empty(), tables.groups.strange.size());
    sink.value("unread_switch_count", tables.multicast.unread_count());
    visit_causes(sink, *found.multicast);
    visit_loops(sink, *found.multicast_loops);
    sink.end_object();
  }

  std::string name_text(subnet::NodeIndex node) const { return in_quotes(subnet::name_of(fabric.subnet.node(node), &fabric.names)); }
  std::string node_text(subnet::NodeIndex node) const {
    return fmt::format("{} {}", to_text(fabric.subnet.node(node).guid()), name_text(node));
  }
  std::string port_text(PortId port_id) const {
    return fmt::format("port {} of {}", tables.network.port_at(port_id), node_text(node_at(port_id)));
  }
  std::string lid_text(Lid lid) const {
    const subnet::PortIndex port = fabric.subnet.find_lid(lid);
    const std::string number = lid.is_multicast() ? fmt::format("MLID {:#x}", lid.value) : fmt::format("LID {}", lid.value);
    return lid.is_multicast() || port == subnet::none ? number : number + ' ' + name_text(fabric.subnet.port(port).node);
  }

  /// What was not read at a port: the table of the switch, what is behind its port, or a table on the route to a host.
  std::string unread_text(PortId port_id) const {
    if (tables.network.is_host_port(port_id)) return "a table on the way to " + port_text(port_id);
    return tables.network.port_at(port_id) == 0 ? "the table of " + node_text(node_at(port_id)) : "what is behind " + port_text(port_id);
  }

  /// Whether a port that ends routes has one of these LIDs, which belong to others: two ports claim it.
  bool is_claimed_behind(PortId port_id, std::span<const std::uint16_t> lids) const {
    const subnet::PortIndex port = tables.network.port_of(port_id), peer = fabric.subnet.port(port).peer;
    const subnet::PortIndex end = peer == subnet::none ? port : fabric.subnet.end_port_of(peer);  // port 0 ends routes itself
    const unsigned base = fabric.subnet.lid(end).value, count = base == 0 ? 0U : 1U << fabric.subnet.lmc(end);
    return std::ranges::any_of(lids, [&](std::uint16_t lid) { return lid >= base && lid < base + count; });
  }

  /// "LIDs 1-3, 7 ('node01', 'node02', …)"
  std::string lids_text(std::span<const std::uint16_t> lids) const {
    std::string names;
    for (std::size_t i = 0; i < lids.size() && i < most_names; ++i) {
      const subnet::PortIndex port = fabric.subnet.find_lid(Lid{lids[i]});
      if (port == subnet::none) continue;
      const std::string name = name_text(fabric.subnet.port(port).node);
      if (names.find(name) == std::string::npos) add_part(names, name);
    }
    if (lids.size() > most_names) names += ", …";
    return fmt::format("{} {} ({})", lids.size() == 1 ? "LID" : "LIDs", fold(lids), names);
  }
  static std::string mlids_text(std::span<const std::uint16_t> mlids) {
    return fmt::format("{} {}", mlids.size() == 1 ? "MLID" : "MLIDs", fold(mlids, true));
  }
  std::string pair_text(const routing::Pair& pair) const { return fmt::format("{} to {}", lid_text(pair.slid), lid_text(pair.dlid)); }

  std::string cycle_text(const std::vector<routing::SwitchIndex>& cycle) const {
    std::string text;
    for (std::size_t i = 0; i < cycle.size() && i < most_switches; ++i) text += node_text(tables.network.switches()[cycle[i]].node) + ", ";
    if (cycle.size() > most_switches) text += fmt::format("… {} more (--json), ", cycle.size() - most_switches);
    return text + "and so on";
  }

  void text_unicast(TextOut& out) const {
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
      out.print("{} {}, {} {} lost{}.\n", unicast.arrived(), unicast.arrived() == 1 ? "arrives" : "arrive", lost, lost == 1 ? "is" : "are",
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
    for (std::size_t count = 0; count < unicast.hops().size(); ++count)
      if (unicast.hops()[count] > 0) add_part(hops, fmt::format("{}: {}", count, unicast.hops()[count]));
    if (hops.empty()) return out.write("Hops: none: no pair is known to arrive.\n");
    out.print("Hops: from port to port {} (links: pairs), {}.\n", hops,
              unicast.longer() == 0 ? "no route longer than the shortest"
                                    : counted(unicast.longer(), "pair") + " by a route longer than the shortest");
  }

  unsigned lid_of_switch(PortId port_id) const { return tables.network.lid_of(tables.network.switch_at(port_id)).value; }
  void text_cause(TextOut& out, const routing::Cause& cause) const {
    const std::string lids = lids_text(cause.lids);
    std::string what, follows;
    switch (cause.fault) {
      case Fault::no_entry:
        what = fmt::format("{} has no entry for {}", node_text(node_at(cause.port_id)), lids);
        follows = fmt::format("The subnet manager has not set it: compare ibtool ibroute {}; a heavy sweep fixes it.",
                              lid_of_switch(cause.port_id));
        break;
      case Fault::dead_port:
        what = fmt::format("{} has no link that is Active, and is the way to {}", port_text(cause.port_id), lids);
        follows = fabric.subnet.port(tables.network.port_of(cause.port_id)).is_link_up()
                      ? "The link is up and waits for a subnet manager to make it Active: does one run (ibtool sminfo)?"
                      : "Look at the cable; if it is meant to be out, the subnet manager has not routed around it: a heavy sweep fixes it.";
        break;
      case Fault::loop:
        what = fmt::format("{} in a circle: {}", lids, cycle_text(cause.cycle));
        follows = "The tables of these switches contradict each other: a heavy sweep fixes it. Until then such packets fill their links.";
        break;
      default:
        what = fmt::format("{} is the way to {}, and does not lead there", port_text(cause.port_id), lids);
        follows = is_claimed_behind(cause.port_id, cause.lids)
                      ? "The port there claims this LID too, and one of the two gets nothing: a subnet manager has to give it another one."
                      : "The entry, or the LID of the port behind it, is out of date: a heavy sweep fixes it.";
    }
    out.print("  {}: {}.\n    {}, for example {}.\n    {}\n", routing::name(cause.fault), what, counted(cause.pairs, "lost pair"),
              pair_text(cause.example), follows);
  }

  void text_load(TextOut& out) const {
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
    for (PortId port_id = 0; port_id < tables.network.port_id_count(); ++port_id)
      if (tables.network.wire(port_id).carries())
        out.print("  {:>10} {:>8}  {}\n", found.load.routes(port_id), found.load.lids(port_id), port_text(port_id));
  }

  std::string verdict_text(const routing::CreditLoops& loops) const {
    // Nodes behind silent ports may have routes too.
    const std::string_view among = std::ranges::any_of(fabric.failures, &subnet::Failure::beyond) ? " among the known routes" : "";
    switch (loops.verdict) {
      case Verdict::free:
        return fmt::format("none is possible{}, whichever SL is used ({}, {})", among, counted(loops.channel_count, "channel"),
                           counted(loops.edge_count, "edge"));
      case Verdict::free_for_used_sls:
        return fmt::format("none is possible{} with the SLs in use", among);
      case Verdict::possible:
        return fmt::format("possible: the SLs of {} are not known; see --sl, --psl and --ask-sa",
                           loops.unknown_pairs == 0 ? "multicast groups" : counted(loops.unknown_pairs, "pair"));
      case Verdict::found:
        return "found: packets can wait for each other in a circle, and none of them moves again";
      case Verdict::not_read:
        return fmt::format("not known: {} were not read",
                           loops.loops.empty() ? "forwarding tables" : "SLtoVL mapping tables, which decide,");
    }
    return {};
  }

  void text_loops(TextOut& out, const routing::CreditLoops& loops, std::string_view what) const {
    out.print("{}: {}.\n", what, verdict_text(loops));
    for (std::size_t i = 0; i < loops.loops.size() && i < most_loops; ++i) text_loop(out, loops.loops[i]);
    if (loops.loops.size() > most_loops)
      out.print("  … and {}: --json has all.\n", counted(loops.loops.size() - most_loops, "further set"));
  }

  void text_loop(TextOut& out, const routing::CreditLoop& loop) const {
    out.print("  {} that wait for each other; a shortest circle of them:\n", counted(loop.channels, "channel"));
    for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
      const routing::LoopChannel& channel = loop.cycle[i];
      out.print("    {}{}, held by packets from {}\n", port_text(channel.port_id), channel.vl ? fmt::format(" VL {}", *channel.vl) : "",
                pair_text(loop.witnesses[i]));
    }
    if (loop.needs_aggregation) out.write("    Without the routes between Aggregation Nodes there would be no circle.\n");
  }

  void text_adaptive(TextOut& out) const {
    std::size_t on = 0, unread = 0;
    std::string names;
    for (routing::SwitchIndex at = 0; at < tables.adaptive.size(); ++at) {
      if (tables.adaptive[at] == routing::Adaptive::not_read) ++unread;
      if (tables.adaptive[at] != routing::Adaptive::on) continue;
      if (++on <= most_names) add_part(names, name_text(tables.network.switches()[at].node));
    }
    const std::size_t all = tables.adaptive.size();
    if (on > 0) {
      out.print("Static tables only: adaptive routing is on at {} of {} switches ({}{}), which send packets other ways too.\n", on, all,
                names, on > most_names ? ", …" : "");
    }
    if (unread > 0) out.print("Static tables only: whether adaptive routing is on is not known at {} of {} switches.\n", unread, all);
  }

  void text_multicast(TextOut& out) const {
    const routing::Multicast& multicast = *found.multicast;
    const std::size_t unread_switches = tables.multicast.unread_count(), all_switches = tables.network.switches().size();
    const std::string unread_tables = unread_switches == all_switches
                                          ? fmt::format("the multicast tables of all switches, {}", all_switches)
                                          : fmt::format("the multicast tables of {} of {} switches", unread_switches, all_switches);
    if (multicast.groups() == 0) {
      if (unread_switches > 0) return out.print("Multicast: not read: {}; --unicast leaves them out.\n", unread_tables);
      const std::string_view unknown = tables.lacks_groups ? " in the tables; the groups of the subnet administrator are not known" : "";
      return out.print("Multicast: no groups{}{}{}.\n", unknown, tables.why_no_groups.empty() ? "" : ": ", tables.why_no_groups);
    }
    out.print("Multicast: {} with {}:", counted(multicast.groups(), "MLID"), counted(multicast.members(), "member"));
    const auto findings = multicast.findings();
    const bool is_whole = multicast.not_read().empty() && unread_switches == 0 && tables.why_no_groups.empty();
    out.write(findings.empty() && is_whole ? " all reach each other, by trees.\n" : "\n");
    if (unread_switches > 0) out.print("  not read: {}.\n", unread_tables);
    if (!tables.why_no_groups.empty()) out.print("  not read: the groups of the subnet administrator: {}.\n", tables.why_no_groups);
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

  void text_group_cause(TextOut& out, const routing::Cause& cause) const {
    const std::string groups = mlids_text(cause.lids);
    const auto print = [&](std::string_view what, std::string_view follows) {
      out.print("  {}: {}.\n    {}\n", routing::name(cause.fault), what, follows);
    };
    if (cause.fault == Fault::loop) {
      print(fmt::format("the entries of {} form no tree: {}", groups, cycle_text(cause.cycle)),
            "Packets arrive twice, or circulate for ever: a heavy sweep fixes it.");
    } else if (cause.fault == Fault::dead_port) {
      print(fmt::format("{} has no link that is Active, and is an entry of {}", port_text(cause.port_id), groups),
            "What was behind it gets nothing: the subnet manager has not taken it out of the tree; a heavy sweep does.");
    } else if (cause.fault == Fault::no_entry) {
      const std::string node = node_text(node_at(cause.port_id));
      print(cause.missing_port
                ? fmt::format("an entry of {} of {} names port {}, which the switch does not have", groups, node, *cause.missing_port)
                : fmt::format("packets of {} come to {}, which has no entry for them", groups, node),
            fmt::format("{}: compare ibtool ibroute -M {}; a heavy sweep fixes it.",
                        cause.missing_port ? "What was meant to go there gets nothing" : "They end there", lid_of_switch(cause.port_id)));
    } else {
      print(fmt::format("of {} {} of members get nothing: {} is the first; for example from {}", groups, counted(cause.pairs, "pair"),
                        port_text(cause.port_id), pair_text(cause.example)),
            fmt::format("Its switch is not in the tree, or not its port: compare ibtool ibtracert -m {:#x}; a heavy sweep fixes it.",
                        cause.lids.front()));
    }
  }
};

}  // namespace

std::unique_ptr<Report> make_report(const Fabric& fabric, const RouteChecks& checks, const Tables& tables, const RouteFindings& found) {
  return std::make_unique<RoutesReport>(fabric, checks, tables, found);
}

}  // namespace ib::tools::routes
