// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Rows are printed one by one, because a table has up to 49,151 rows.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "path/json.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/shared/diags_name.hpp"

namespace ib::tools::tables {
namespace {

constexpr std::uint32_t first_mlid = subnet::first_multicast_lid.value, last_mlid = subnet::last_multicast_lid.value;
constexpr unsigned per_block = 64, mlids_per_block = 32, ports_per_mask = 16;
constexpr std::size_t longest_diags_text = 199;
constexpr std::string_view dump_unicast = "dump_unicast_tables";  // the function of infiniband-diags that remarks name

bool has_multicast_top(const smp::SwitchInfo& info) { return info.multicast_fdb_top >= first_mlid - 1; }

/// The texts of `column` for the ports from 0 to `ports`, joined.
template <class Column>
std::string columns(unsigned ports, Column column) {
  std::string text;
  for (unsigned port = 0; port <= ports; ++port) text += column(port);
  return text;
}

bool is_member(const subnet::MulticastTable& table, Lid mlid, unsigned port) {
  return (table.mask(mlid, port / ports_per_mask) >> port % ports_per_mask & 1U) != 0;
}

/// The port mask of a multicast group in the format of infiniband-diags with -n: in groups of 16 ports. Sets `any` if a port is set.
std::string mask_text(const subnet::MulticastTable& table, Lid mlid, bool& any) {
  std::string text;
  any = false;
  for (unsigned position = 0; position < table.positions(); ++position) {
    const std::uint16_t mask = table.mask(mlid, position);
    any = any || mask != 0;
    text += fmt::format("{:04x}", mask);
  }
  return text;
}

/// The ports to which a switch sends packets of a group that has no entry (IBA 14.2.5.4).
std::vector<unsigned> default_ports(const SwitchTable& of) {
  const auto is_port = [&](unsigned port) { return port != 0 && port <= of.node.num_ports; };
  std::vector<unsigned> ports;
  if (is_port(of.info.default_multicast_primary_port)) ports.push_back(of.info.default_multicast_primary_port);
  if (!ports.empty() && is_port(of.info.default_multicast_not_primary_port)) ports.push_back(of.info.default_multicast_not_primary_port);
  return ports;
}

/// The text behind the number of entries if there may be more.
std::string unread_text(const SwitchTable& of) {
  const std::size_t blocks = of.unread_blocks();
  return blocks == 0 ? "" : fmt::format(", {} {} not read", blocks, blocks == 1 ? "block" : "blocks");
}

std::string_view type_text(smp::NodeType type, std::string& number) {
  const std::string_view text = to_text(type);
  if (!text.empty()) return text;
  return number = std::to_string(static_cast<unsigned>(type));
}

}  // namespace

std::size_t SwitchTable::unread_blocks() const {
  return (linear ? linear->unknown_blocks() : multicast ? multicast->unknown_blocks() : std::vector<std::uint32_t>()).size();
}

bool SwitchTable::any_read() const {
  if (!has_info || (!linear && !multicast)) return false;
  if (linear ? linear->complete() : multicast->complete()) return true;
  const unsigned begin = linear ? linear->first() : multicast->first(), end = linear ? linear->end() : multicast->end();
  for (unsigned value = begin; value < end; ++value) {
    const Lid entry{static_cast<std::uint16_t>(value)};
    if (linear ? linear->is_known(entry) : multicast->is_known(entry)) return true;
  }
  return false;
}

DiagsRange diags_range(const smp::SwitchInfo& info, const Wanted& wanted) {
  DiagsRange range{wanted.first.value_or(0), wanted.last.value_or(0)};
  if (!wanted.multicast) {  // infiniband-diags prints signed numbers here
    const int top = info.linear_fdb_top;
    if (range.last == 0 || static_cast<int>(range.last) > top) range.last = info.linear_fdb_top;
    if (static_cast<int>(range.last) > int{last_unicast_lid}) range.last = last_unicast_lid;
    return range;
  }
  const std::uint32_t end = first_mlid + info.multicast_fdb_cap - 1;
  if (range.last == 0 || range.last > end) range.last = end;
  if (!wanted.all && has_multicast_top(info) && info.multicast_fdb_top < range.last) range.last = info.multicast_fdb_top;
  range.first = std::max(range.first, first_mlid);
  range.last = std::min(range.last, last_mlid);
  return range;
}

void make_table(SwitchTable& of, const Wanted& wanted, bool diags) {
  subnet::LidRange lids;
  if (diags) {
    const DiagsRange range = diags_range(of.info, wanted);
    const bool is_empty = wanted.multicast ? range.last < range.first : static_cast<int>(range.last) < static_cast<int>(range.first);
    lids.first =
        Lid{static_cast<std::uint16_t>(wanted.multicast || static_cast<int>(range.first) > 0 ? std::min(range.first, 0xffffU) : 0)};
    lids.last = Lid{static_cast<std::uint16_t>(range.last)};
    if (is_empty || (!wanted.multicast && static_cast<int>(range.last) <= 0)) lids = {Lid{0xffff}, Lid{0}};
  } else {
    lids.first = Lid{static_cast<std::uint16_t>(wanted.first.value_or(0))};
    lids.last = Lid{static_cast<std::uint16_t>(wanted.last.value_or(permissive_lid.value))};
  }
  smp::SwitchInfo info = of.info;
  if (!wanted.multicast) {
    if (diags) info.linear_fdb_cap = last_unicast_lid + 1;  // infiniband-diags looks at LinearFDBTop alone
    of.linear.emplace(info, lids);
    return;
  }
  if (diags && wanted.all) info.multicast_fdb_top = 0;
  of.multicast.emplace(info, of.node.num_ports, lids);
}

std::string TableText::title(const SwitchTable& of) const {
  const auto mapped = names_.find(of.node.node_guid);
  return fmt::format("{} {}", of.name, mapped ? in_quotes(*mapped) : of.description ? in_quotes(*of.description) : "None");
}

void TableText::text(TextOut& out, const SwitchTable& of) {
  if (!of.any_read()) return out.print("{} of switch {}: not read\n", of.multicast ? "Multicast mlids" : "Unicast lids", title(of));
  of.multicast ? multicast(out, of) : unicast(out, of, false);
}

void TableText::diags_text(TextOut& out, const SwitchTable& of) { of.multicast ? diags_multicast(out, of) : unicast(out, of, true); }

void TableText::unicast(TextOut& out, const SwitchTable& of, bool diags) {
  Rows rows = begin_rows(out, of, diags);
  while (rows.lid < rows.end && row(out, of, rows)) ++rows.lid;
  end_rows(out, of, rows);
}

TableText::Rows TableText::begin_rows(TextOut& out, const SwitchTable& of, bool diags) {
  const subnet::LinearTable& table = *of.linear;
  Rows rows;
  rows.diags = diags;
  rows.lid = table.first();
  if (!diags) {
    rows.end = std::max(table.end(), table.first() + 1);
    if (whole_blocks && !wanted_.last) rows.end = (rows.end + per_block - 1) / per_block * per_block;
    out.print("Unicast lids [{}-{}] of switch {}\n  Lid  Out   Destination\n       Port     Info\n", rows.lid, rows.end - 1, title(of));
    return rows;
  }
  rows.end = table.end();
  const DiagsRange range = diags_range(of.info, wanted_);
  base_ = last_ = 0;
  port_guid_ = {};
  out.print("Unicast lids [{:#x}-{:#x}] of switch {} guid {:#018x} ({}):\n", range.first, range.last, of.name, of.node.node_guid.value,
            diags_node_name(names_, of.node.node_guid, of.description.value_or("")));
  session_.diags_debug(out, dump_unicast, fmt::format("Switch top is {:#x}\n", of.info.linear_fdb_top));
  out.write("  Lid  Out   Destination\n       Port     Info \n");
  return rows;
}

bool TableText::row(TextOut& out, const SwitchTable& of, Rows& rows) {
  if (rows.diags) {
    rows.broken = !diags_unicast_row(out, of, rows);
  } else {
    unicast_row(out, of, rows);
  }
  return !rows.broken;
}

void TableText::end_rows(TextOut& out, const SwitchTable& of, const Rows& rows) const {
  if (rows.broken) return;
  out.print("{} {}lids dumped{}\n", rows.count, wanted_.all ? "" : "valid ", rows.diags ? " " : unread_text(of));
}

void TableText::unicast_row(TextOut& out, const SwitchTable& of, Rows& rows) const {
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

void TableText::multicast(TextOut& out, const SwitchTable& of) const {
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  const auto cell = [](unsigned port, std::string text) { return (port == 0 ? "" : " ") + std::move(text); };
  out.print("Multicast mlids [{:#x}-{:#x}] of switch {}\n", table.first(), std::max(table.end(), table.first() + 1) - 1, title(of));
  out.print("     Ports: {}\n MLid\n", columns(ports, [&](unsigned port) { return cell(port, fmt::format("{:3}", port)); }));
  unsigned count = 0;
  for (unsigned value = table.first(); value < table.end(); ++value) {
    const Lid mlid{static_cast<std::uint16_t>(value)};
    if (!table.is_known(mlid) || (!wanted_.all && table.members(mlid).empty())) continue;
    out.print("{:#x}       {}\n", value,
              columns(ports, [&](unsigned port) { return cell(port, is_member(table, mlid, port) ? " x " : "   "); }));
    ++count;
  }
  const std::vector<unsigned> others = default_ports(of);
  if (!others.empty()) {
    const auto is_default = [&](unsigned port) { return std::ranges::find(others, port) != others.end(); };
    out.print("default      {}\n", columns(ports, [&](unsigned port) { return cell(port, is_default(port) ? " x " : "   "); }));
  }
  out.print("{} {}mlids dumped{}\n", count, wanted_.all ? "" : "valid ", unread_text(of));
}

void TableText::diags_remarks(const SwitchTable& of) const {
  const std::string_view function = of.multicast ? "dump_multicast_tables" : dump_unicast;
  if (!of.multicast) {
    if (of.info.linear_fdb_top > last_unicast_lid && (!wanted_.last || *wanted_.last == 0 || *wanted_.last > last_unicast_lid)) {
      session_.diags_warning(function, fmt::format("illegal lft top {}, truncate to {}", of.info.linear_fdb_top, last_unicast_lid));
    }
    return;
  }
  const unsigned top = of.info.multicast_fdb_top;
  const std::uint32_t first = wanted_.first.value_or(0), end = first_mlid + of.info.multicast_fdb_cap - 1;
  if (!wanted_.all && top != 0 && !has_multicast_top(of.info)) session_.diags_warning(function, fmt::format("illegal top mlid {:x}", top));
  if (first != 0 && first < first_mlid)
    session_.diags_warning(function, fmt::format("illegal start mlid {:x}, set to {:x}", first, first_mlid));
  const std::uint32_t last = wanted_.last.value_or(0);
  const std::uint32_t shown = last == 0 || last > end ? end : last;
  if (shown > last_mlid) session_.diags_warning(function, fmt::format("illegal end mlid {:x}, truncate to {:x}", shown, last_mlid));
}

/// The owner of a LID. If a port has several LIDs, the first row describes the port, and the other rows refer to the first.
std::string TableText::diags_destination(Lid lid, bool valid) {
  if (wanted_.no_destinations) return "";
  if (lid.value <= last_) {
    const unsigned at = lid.value - base_;
    if (!valid) return fmt::format(": (path #{} - illegal port)", static_cast<int>(at));
    const std::string of = fmt::format(": (path #{} out of {}", static_cast<int>(at + 1), static_cast<int>(last_ - base_ + 1));
    return port_guid_.value == 0 ? of + ")" : fmt::format("{}: portguid {:#018x})", of, port_guid_.value);
  }
  if (!valid) return ": (illegal port)";
  port_guid_ = {};
  const auto to = find_(lid);
  if (!to) return fmt::format(": ({})", nobody);
  port_guid_ = to->port_guid;
  if (to->lmc > 0) {
    base_ = to->base.value;
    last_ = base_ + (1U << to->lmc) - 1;
  }
  const std::string type = libibmad_text(LibibmadText::node_type, static_cast<unsigned>(to->node_type), 8);
  std::string text = fmt::format(": ({} portguid {:#018x}: '{}')", type, to->port_guid.value,
                                 diags_node_name(names_, to->node_guid, to->description.value_or("")));
  if (text.size() > longest_diags_text) text.resize(longest_diags_text);
  return text;
}

/// Returns false if the table breaks off before this row.
bool TableText::diags_unicast_row(TextOut& out, const SwitchTable& of, Rows& rows) {
  const subnet::LinearTable& table = *of.linear;
  const Lid lid{static_cast<std::uint16_t>(rows.lid)};
  if (session_.options().debug > 0 && (rows.lid == table.first() || rows.lid % per_block == 0))
    session_.diags_debug(out, dump_unicast, fmt::format("reading block {}", rows.lid / per_block));
  if (!table.is_known(lid)) return !breaks_off;
  const unsigned port = table.out_port(lid);
  const bool valid = port <= of.node.num_ports;
  if (!valid && !wanted_.all) return true;
  out.print("{:#06x} {:03} {}\n", rows.lid, port, diags_destination(lid, valid));
  ++rows.count;
  return true;
}

void TableText::diags_multicast(TextOut& out, const SwitchTable& of) const {
  constexpr unsigned one_digit = 9;
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  const DiagsRange range = diags_range(of.info, wanted_);
  out.print("Multicast mlids [{:#x}-{:#x}] of switch {} guid {:#018x} ({}):\n", range.first, range.last, of.name, of.node.node_guid.value,
            diags_node_name(names_, of.node.node_guid, of.description.value_or("")));
  if (wanted_.no_destinations) {
    out.write(" MLid       Port Mask\n");
  } else {
    // The tens are one character. After 9 follow the next characters of ASCII, as in infiniband-diags.
    const auto tens = [](unsigned port) { return std::string{port % 10 != 0 ? ' ' : static_cast<char>('0' + port / 10), ' '}; };
    if (ports > one_digit) out.print("            {}\n", columns(ports, tens));
    out.print("     Ports: {}\n MLid\n", columns(ports, [](unsigned port) { return fmt::format("{} ", port % 10); }));
  }
  if (session_.options().verbosity > 0)
    out.print("Switch multicast mlid capability is {} top is {:#x}\n", of.info.multicast_fdb_cap, of.info.multicast_fdb_top);
  const bool debug = session_.options().debug > 0;
  unsigned count = 0;
  for (unsigned value = table.first(); value < table.end(); ++value) {
    const Lid mlid{static_cast<std::uint16_t>(value)};
    if (debug && (value == table.first() || value % mlids_per_block == 0)) {
      const unsigned block = value / mlids_per_block, first_block = first_mlid / mlids_per_block;
      for (unsigned chunk = 0; chunk < table.positions(); ++chunk)
        session_.diags_debug(out, "dump_multicast_tables",
                             fmt::format("reading block {:x} chunk {} mod {:x}", block, chunk, (block - first_block) | chunk << 28U));
    }
    if (!table.is_known(mlid)) {
      if (breaks_off) return;
      continue;
    }
    bool any = false;
    const std::string mask = mask_text(table, mlid, any);
    if (!any && !wanted_.all) continue;
    const auto member = [&](unsigned port) { return is_member(table, mlid, port) ? "x " : "  "; };
    out.print("{:#06x}      {}\n", value, wanted_.no_destinations ? mask : columns(ports, member));
    ++count;
  }
  out.print("{} {}mlids dumped \n", count, wanted_.all ? "" : "valid ");
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
  to->description ? sink.value("node_description", *to->description) : sink.null("node_description");
  sink.text_or_null("node_name", names_.find(to->node_guid).value_or(""));
  sink.value("port_guid", to->port_guid);
  sink.value("lid", to->base);
  sink.value("lmc", to->lmc);
  sink.end_object();
}

void TableText::visit(report::Sink& sink, const SwitchTable& of) const {
  sink.begin_object();
  path::visit(sink, "path", of.path);
  sink.value("node_guid", of.node.node_guid);
  of.description ? sink.value("node_description", *of.description) : sink.null("node_description");
  sink.text_or_null("node_name", names_.find(of.node.node_guid).value_or(""));
  sink.value("num_ports", of.node.num_ports);
  of.linear ? visit_linear(sink, of) : visit_multicast(sink, of);
  sink.text_or_null("error", of.error ? of.error->message() : "");
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
    sink.begin_object();
    sink.value("dlid", lid);
    valid ? sink.value("out_port", port) : sink.null("out_port");
    visit_destination(sink, valid ? lid : Lid{});
    sink.end_object();
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
      sink.begin_object();
      sink.value("mlid", mlid);
      sink.begin_array("out_ports");
      for (const std::uint8_t port : members) sink.value({}, port);
      sink.end_array();
      sink.end_object();
    }
    sink.end_array();
  } else {
    sink.null("groups");
  }
  if (!of.has_info) return sink.null("default_out_ports");
  sink.begin_array("default_out_ports");
  for (const unsigned port : default_ports(of)) sink.value({}, port);
  sink.end_array();
}

}  // namespace ib::tools::tables
