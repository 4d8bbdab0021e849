// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/json.hpp"

namespace ib::path {

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
  sink.value("sgid", ib.sgid);
  sink.value("dgid", ib.dgid);
  sink.value_or_null("hop_limit", ib.has_grh, ib.hop_limit);
  sink.value_or_null("traffic_class", ib.has_grh, ib.traffic_class);
  sink.value_or_null("flow_label", ib.has_grh, ib.flow_label);
  if (const IbDrPath* directed = path.directed()) {
    sink.begin_array("route");
    for (const std::uint8_t port : directed->ports()) sink.value({}, port);
    sink.end_array();
    sink.value("dr_slid", directed->dr_slid);
    sink.value("dr_dlid", directed->dr_dlid);
  } else {
    for (const char* absent : {"route", "dr_slid", "dr_dlid"}) sink.null(absent);
  }
  sink.end_object();
}

}  // namespace ib::path
