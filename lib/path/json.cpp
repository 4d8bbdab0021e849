// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/json.hpp"

namespace ib::path {
namespace {

/// Writes the members of a GRH. They are null without a GRH.
void visit_grh(report::Sink& sink, const IbPath& path) {
  sink.value("sgid", path.sgid);
  sink.value("dgid", path.dgid);
  sink.value_or_null("hop_limit", path.has_grh, path.hop_limit);
  sink.value_or_null("traffic_class", path.has_grh, path.traffic_class);
  sink.value_or_null("flow_label", path.has_grh, path.flow_label);
}

void visit_route(report::Sink& sink, const IbDrPath* path) {
  if (path == nullptr) {
    for (const char* key : {"route", "dr_slid", "dr_dlid"}) sink.null(key);
    return;
  }
  sink.begin_array("route");
  for (unsigned hop = 1; hop <= path->hops; ++hop) sink.value({}, path->route[hop]);
  sink.end_array();
  sink.value("dr_slid", path->dr_slid);
  sink.value("dr_dlid", path->dr_dlid);
}

}  // namespace

void visit(report::Sink& sink, std::string_view key, const Path& path) {
  const IbPath& ib = path.ib();
  sink.begin_object(key);
  sink.value("kind", path.directed() != nullptr ? "directed" : ib.has_grh ? "gid" : "lid");
  sink.text_or_null("end_port", ib.end_port != nullptr ? ib.end_port->name() : "");
  sink.lid_or_null("slid", ib.slid);
  sink.lid_or_null("dlid", ib.dlid);
  sink.value("sl", ib.sl);
  sink.value("pkey", ib.pkey);
  sink.value("dqpn", ib.dqpn);
  visit_grh(sink, ib);
  visit_route(sink, path.directed());
  sink.end_object();
}

}  // namespace ib::path
