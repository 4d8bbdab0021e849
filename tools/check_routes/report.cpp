// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as JSON.
#include "tools/check_routes/routes.hpp"

namespace ib::tools::routes {

using routing::LoadSummary;
using routing::PortId;

subnet::NodeIndex RoutesReport::node_at(PortId port_id) const { return fabric.subnet.port(tables.network.port_of(port_id)).node; }

Exit RoutesReport::status() const {
  const auto is_bad = [](const std::optional<routing::CreditLoops>& loops) {
    return loops && (loops->verdict == routing::Verdict::found || loops->verdict == routing::Verdict::possible);
  };
  const auto is_open = [](const std::optional<routing::CreditLoops>& loops) {
    return loops && loops->verdict == routing::Verdict::not_read;
  };
  const bool lost = checks.wants_unicast() && !found.unicast.findings().empty();
  const bool lost_groups = found.multicast && !found.multicast->findings().empty();
  if (lost || lost_groups || is_bad(found.loops) || is_bad(found.multicast_loops)) return Exit::findings;
  const bool lacks_lids = tables.destinations.empty() || tables.network.without_lid() > 0;
  const bool unread = (checks.wants_unicast() && (lacks_lids || !found.unicast.not_read().empty())) ||
                      (found.multicast && (tables.multicast.unread_count() > 0 || !found.multicast->not_read().empty()));
  if (unread || is_open(found.loops) || is_open(found.multicast_loops)) return Exit::incomplete;
  return FabricReport::status();
}

void RoutesReport::visit(report::Sink& sink) const {
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

void RoutesReport::visit_unicast(report::Sink& sink) const {
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

namespace {

void visit_pair(report::Sink& sink, std::string_view key, const routing::Pair& pair) {
  sink.begin_object(key);
  sink.value("slid", pair.slid);
  sink.value("dlid", pair.dlid);
  sink.end_object();
}

/// Routes that are not known may use any link. A summary of known routes says nothing of the links.
void visit_members(report::Sink& sink, const LoadSummary& sum, bool knows_all) {
  sink.value_or_null("least", knows_all, sum.least);
  sink.value_or_null("greatest", knows_all, sum.greatest);
  sink.value_or_null("mean", knows_all, sum.mean());
  sink.value_or_null("unused", knows_all, sum.unused);
}

void visit_summary(report::Sink& sink, std::string_view key, const LoadSummary& sum, bool knows_all) {
  sink.begin_object(key);
  visit_members(sink, sum, knows_all);
  sink.end_object();
}

}  // namespace

void RoutesReport::visit_cause(report::Sink& sink, const routing::Cause& cause) const {
  sink.value("fault", routing::name(cause.fault));
  if (cause.fault == routing::Fault::loop || cause.port_id == routing::none) {
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

void RoutesReport::visit_load(report::Sink& sink) const {
  const bool knows_all = found.unicast.unknown() == 0;
  sink.begin_object("load");
  visit_links(sink);
  visit_summary(sink, "switch_links", found.load.switch_links(), knows_all);
  visit_summary(sink, "host_links", found.load.host_links(), knows_all);
  sink.begin_array("tiers");
  const std::vector<LoadSummary> tiers = found.load.tiers();
  for (std::size_t row = 0; row < tiers.size(); ++row) {
    sink.begin_object();
    sink.value("tier", row / 2);
    sink.value("is_upward", row % 2 == 0);
    visit_members(sink, tiers[row], knows_all);
    sink.end_object();
  }
  sink.end_array();
  sink.end_object();
}

void RoutesReport::visit_links(report::Sink& sink) const {
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

void RoutesReport::visit_loops(report::Sink& sink, const routing::CreditLoops& loops) const {
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

void RoutesReport::visit_adaptive(report::Sink& sink) const {
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

void RoutesReport::visit_multicast(report::Sink& sink) const {
  sink.begin_object("multicast");
  sink.value("mlid_count", found.multicast->groups());
  sink.value("member_count", found.multicast->members());
  sink.value("unresolved_count", tables.groups.strange.size());
  sink.value("unread_switch_count", tables.multicast.unread_count());
  visit_causes(sink, *found.multicast);
  visit_loops(sink, *found.multicast_loops);
  sink.end_object();
}

}  // namespace ib::tools::routes
