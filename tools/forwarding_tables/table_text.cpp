// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Rows are printed one by one, because a table has up to 49,151 rows.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/json.hpp"
#include "report/member_names.hpp"
#include "tools/forwarding_tables/tables.hpp"

namespace ib::tools::tables {
namespace {

/// The text behind the number of entries if there may be more.
std::string unread_text(const SwitchTable& of) {
  const std::size_t blocks = of.unknown_blocks().size();
  return blocks == 0 ? "" : fmt::format(", {} {} not read", blocks, blocks == 1 ? "block" : "blocks");
}

std::string_view type_text(smp::NodeType type, std::string& number) {
  const std::string_view text = to_text(type);
  if (!text.empty()) return text;
  return number = std::to_string(static_cast<unsigned>(type));
}

}  // namespace

std::string TableText::title(const SwitchTable& of) const {
  const auto mapped = names_.find(of.node.node_guid);
  return fmt::format("{} {}", of.name, mapped ? in_quotes(*mapped) : of.description ? in_quotes(*of.description) : "None");
}

void TableText::text(TextOut& out, const SwitchTable& of) const {
  if (!of.any_read()) return out.print("{} of switch {}: not read\n", of.multicast ? "Multicast mlids" : "Unicast lids", title(of));
  if (of.multicast) return multicast(out, of);
  TableRows rows = begin_rows(out, of);
  for (; rows.lid < rows.end; ++rows.lid) row(out, of, rows);
  end_rows(out, of, rows);
}

TableRows TableText::begin_rows(TextOut& out, const SwitchTable& of) const {
  constexpr unsigned per_block = 64;
  TableRows rows;
  rows.lid = of.linear->first();
  rows.end = std::max(of.linear->end(), rows.lid + 1);
  if (whole_blocks && !wanted_.last) rows.end = (rows.end + per_block - 1) / per_block * per_block;
  out.print("Unicast lids [{}-{}] of switch {}\n  Lid  Out   Destination\n       Port     Info\n", rows.lid, rows.end - 1, title(of));
  return rows;
}

void TableText::row(TextOut& out, const SwitchTable& of, TableRows& rows) const {
  const subnet::LinearTable& table = *of.linear;
  const Lid lid{static_cast<std::uint16_t>(rows.lid)};
  if (table.covers(lid) && !table.is_known(lid)) return;
  const unsigned port = table.out_port(lid);
  std::string whose, number;
  if (port > of.node.num_ports) {
    if (!wanted_.all) return;
    whose = lid == Lid{} ? "(reserved LID - illegal port)" : "(illegal port)";
  } else if (const auto to = find_(lid)) {
    const auto mapped = names_.find(to->node_guid);
    whose = fmt::format("({} portguid {} {})", type_text(to->node_type, number), to_text(to->port_guid),
                        mapped            ? in_quotes(*mapped)
                        : to->description ? in_quotes(*to->description)
                                          : "None");
  }
  out.print("{:6} {:03} : {}\n", rows.lid, port, whose);
  ++rows.count;
}

void TableText::end_rows(TextOut& out, const SwitchTable& of, const TableRows& rows) const {
  out.print("{} {}lids dumped{}\n", rows.count, wanted_.all ? "" : "valid ", unread_text(of));
}

void TableText::multicast(TextOut& out, const SwitchTable& of) const {
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  const auto cell = [](unsigned port, std::string text) { return (port == 0 ? "" : " ") + std::move(text); };
  out.print("Multicast mlids [{:#x}-{:#x}] of switch {}\n", table.first(), std::max(table.end(), table.first() + 1) - 1, title(of));
  out.print("     Ports: {}\n MLid\n", port_columns(ports, [&](unsigned port) { return cell(port, fmt::format("{:3}", port)); }));
  unsigned count = 0;
  for (unsigned value = table.first(); value < table.end(); ++value) {
    const Lid mlid{static_cast<std::uint16_t>(value)};
    if (!table.is_known(mlid) || (!wanted_.all && table.members(mlid).empty())) continue;
    out.print("{:#x}       {}\n", value,
              port_columns(ports, [&](unsigned port) { return cell(port, is_member(table, mlid, port) ? " x " : "   "); }));
    ++count;
  }
  const std::vector<std::uint8_t> others = subnet::default_multicast_ports(of.info, ports);
  if (!others.empty()) {
    const auto is_default = [&](unsigned port) { return std::ranges::find(others, port) != others.end(); };
    out.print("default      {}\n", port_columns(ports, [&](unsigned port) { return cell(port, is_default(port) ? " x " : "   "); }));
  }
  out.print("{} {}mlids dumped{}\n", count, wanted_.all ? "" : "valid ", unread_text(of));
}

void TableText::visit_destination(report::Sink& sink, Lid lid) const {
  const auto to = find_(lid);
  if (!to) {
    return sink.null_object("destination", [](report::Sink& unknown) {
      unknown.null("node_guid");
      unknown.no_symbol("node_type");
      for (const char* key : {"node_description", "node_name", "port_guid", "lid", "lmc"}) unknown.null(key);
    });
  }
  sink.begin_object("destination");
  sink.value("node_guid", to->node_guid);
  sink.symbol("node_type", to->node_type, to_text(to->node_type));
  sink.value("node_description", to->description);
  sink.text_or_null("node_name", names_.find(to->node_guid).value_or(""));
  sink.value("port_guid", to->port_guid);
  sink.value("lid", to->base);
  sink.value("lmc", to->lmc);
  sink.end_object();
}

void TableText::visit(report::Sink& sink, const SwitchTable& of) const {
  announce(sink, of);
  visit_switch(sink, of, [&] { of.linear ? visit_linear(sink, of) : visit_multicast(sink, of); });
}

void TableText::announce(report::Sink& sink, const SwitchTable& of) const {
  report::announce(sink, [&](report::Sink& to) {
    visit_switch(to, of, [&] {
      to.null("capacity");
      if (!wanted_.multicast) to.null("top");
      to.begin_array(wanted_.multicast ? "groups" : "routes");
      wanted_.multicast ? visit_group(to, Lid{}, {}) : visit_route(to, Lid{}, std::nullopt);
      to.end_array();
      if (wanted_.multicast) to.null("default_out_ports");
    });
  });
}

void TableText::visit_switch(report::Sink& sink, const SwitchTable& of, const std::function<void()>& table) const {
  sink.begin_object();
  path::visit(sink, "path", of.path);
  sink.value("node_guid", of.node.node_guid);
  sink.value("node_description", of.description);
  sink.text_or_null("node_name", names_.find(of.node.node_guid).value_or(""));
  sink.value("num_ports", of.node.num_ports);
  table();
  sink.text_or_null("error", of.error ? of.error->message() : "");
  sink.end_object();
}

void TableText::visit_route(report::Sink& sink, Lid lid, std::optional<unsigned> port) const {
  sink.begin_object();
  sink.value("dlid", lid);
  sink.value("out_port", port);
  visit_destination(sink, port ? lid : Lid{});
  sink.end_object();
}

void TableText::visit_group(report::Sink& sink, Lid mlid, const std::vector<std::uint8_t>& members) {
  sink.begin_object();
  sink.value("mlid", mlid);
  sink.values("out_ports", members);
  sink.end_object();
}

/// The routes are null if no block of the table was read.
void TableText::visit_linear(report::Sink& sink, const SwitchTable& of) const {
  of.has_info ? sink.value("capacity", of.linear->capacity()) : sink.null("capacity");
  of.has_info ? sink.value("top", of.linear->top()) : sink.null("top");
  if (!of.any_read()) return sink.null("routes");
  sink.begin_array("routes");
  for (unsigned value = of.linear->first(); value < of.linear->end(); ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    const unsigned port = of.linear->out_port(lid);
    const bool valid = port <= of.node.num_ports;
    if (!of.linear->is_known(lid) || (!valid && !wanted_.all)) continue;
    visit_route(sink, lid, valid ? std::optional(port) : std::nullopt);
  }
  sink.end_array();
}

void TableText::visit_multicast(report::Sink& sink, const SwitchTable& of) const {
  of.has_info ? sink.value("capacity", of.multicast->capacity()) : sink.null("capacity");
  if (of.any_read()) {
    sink.begin_array("groups");
    for (unsigned value = of.multicast->first(); value < of.multicast->end(); ++value) {
      const Lid mlid{static_cast<std::uint16_t>(value)};
      const std::vector<std::uint8_t> members = of.multicast->members(mlid);
      if (!of.multicast->is_known(mlid) || (!wanted_.all && members.empty())) continue;
      visit_group(sink, mlid, members);
    }
    sink.end_array();
  } else {
    sink.null("groups");
  }
  if (!of.has_info) return sink.null("default_out_ports");
  sink.values("default_out_ports", subnet::default_multicast_ports(of.info, of.node.num_ports));
}

}  // namespace ib::tools::tables
