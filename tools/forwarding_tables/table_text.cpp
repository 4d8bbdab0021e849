// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/forwarding_tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "path/json.hpp"
#include "report/sink.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/shared/diags_fabric.hpp"

namespace ib::tools::tables {

void add_range(OptionSet& set, TableSelection& selection) {
  constexpr Range<std::uint32_t> lids{0, permissive_lid.value};
  set.optional_operands();
  set.integer("START_LID", selection.first, lids);
  set.integer("END_LID", selection.last, lids);
}

void check_range(const TableSelection& selection) {
  if (selection.first && selection.last && *selection.first > *selection.last)
    throw UsageError(fmt::format("START_LID {} is behind END_LID {}", *selection.first, *selection.last));
}

async::Task<> SwitchTable::read(mad::Transactor& transactor, path::Path to) {
  subnet::ForwardingTable& of = linear ? static_cast<subnet::ForwardingTable&>(*linear) : *multicast;
  error = co_await subnet::read_table(transactor, std::move(to), of);
}

bool SwitchTable::any_read() const {
  const subnet::ForwardingTable* const of = table();
  if (!has_info || of == nullptr) return false;
  if (of->complete()) return true;
  for (unsigned value = of->first(); value < of->end(); ++value) {
    if (of->is_known(Lid{static_cast<std::uint16_t>(value)})) return true;
  }
  return false;
}

void make_table(SwitchTable& of, const TableSelection& selection) {
  const subnet::LidRange lids{Lid{static_cast<std::uint16_t>(selection.first.value_or(0))},
                              Lid{static_cast<std::uint16_t>(selection.last.value_or(permissive_lid.value))}};
  if (selection.multicast) {
    of.multicast.emplace(of.info, of.node.num_ports, lids);
  } else {
    of.linear.emplace(of.info, lids);
  }
}

namespace {

bool is_member(const subnet::MulticastTable& table, Lid mlid, unsigned port) {
  constexpr unsigned ports_per_mask = 16;
  return (table.mask(mlid, port / ports_per_mask) >> port % ports_per_mask & 1U) != 0;
}

/// The texts of `column` for the ports from 0 to `ports`, joined.
template <class Column>
std::string port_columns(unsigned ports, Column column) {
  std::string text;
  for (unsigned port = 0; port <= ports; ++port) text += column(port);
  return text;
}

/// The text behind the number of entries if there may be more.
std::string unread_text(const SwitchTable& of) {
  const std::size_t blocks = of.unknown_blocks().size();
  return blocks == 0 ? "" : fmt::format(", {} {} not read", blocks, blocks == 1 ? "block" : "blocks");
}

std::string type_text(smp::NodeType type) {
  const std::string_view text = to_text(type);
  return text.empty() ? std::to_string(static_cast<unsigned>(type)) : std::string(text);
}

}  // namespace

std::string TableText::name_text(Guid node, const std::optional<std::string>& description) const {
  const auto mapped = names_.find(node);
  return mapped ? in_quotes(*mapped) : description ? in_quotes(*description) : "None";
}

async::Task<> TableText::text(TextOut& out, const SwitchTable& of) const {
  // A command for one switch counts the unread blocks of its linear table.
  if (!of.any_read() && (of.multicast || !settled))
    co_return out.print("{} of switch {}: not read\n", of.multicast ? "Multicast mlids" : "Unicast lids", title(of));
  if (of.multicast) co_return multicast(out, of);
  constexpr unsigned per_block = 64;
  const subnet::LinearTable& table = *of.linear;
  unsigned end = std::max(table.end(), table.first() + 1), count = 0;
  if (whole_blocks && !selection_.last) end = (end + per_block - 1) / per_block * per_block;
  out.print("Unicast lids [{}-{}] of switch {}\n  Lid  Out   Destination\n       Port     Info\n", table.first(), end - 1, title(of));
  for (unsigned value = table.first(); value < end; ++value) {  // printed one by one: there are up to 49,151 rows
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (settled) co_await settled(lid);
    if (table.covers(lid) && !table.is_known(lid)) continue;
    const unsigned port = table.out_port(lid);
    std::string whose;
    if (port > of.node.num_ports) {
      if (!selection_.all) continue;
      whose = lid == Lid{} ? "(reserved LID - illegal port)" : "(illegal port)";
    } else if (const auto to = find_(lid)) {
      whose =
          fmt::format("({} portguid {} {})", type_text(to->node_type), to_text(to->port_guid), name_text(to->node_guid, to->description));
    }
    out.print("{:6} {:03} : {}\n", value, port, whose);
    ++count;
  }
  out.print("{} {}lids dumped{}\n", count, selection_.all ? "" : "valid ", unread_text(of));
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
    if (!table.is_known(mlid) || (!selection_.all && table.members(mlid).empty())) continue;
    out.print("{:#x}       {}\n", value,
              port_columns(ports, [&](unsigned port) { return cell(port, is_member(table, mlid, port) ? " x " : "   "); }));
    ++count;
  }
  const std::vector<std::uint8_t> others = subnet::default_multicast_ports(of.info, ports);
  if (!others.empty()) {
    const auto is_default = [&](unsigned port) { return std::ranges::find(others, port) != others.end(); };
    out.print("default      {}\n", port_columns(ports, [&](unsigned port) { return cell(port, is_default(port) ? " x " : "   "); }));
  }
  out.print("{} {}mlids dumped{}\n", count, selection_.all ? "" : "valid ", unread_text(of));
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
  visit_switch(sink, of, false);
}

void TableText::announce(report::Sink& sink, const SwitchTable& of) const {
  report::announce(sink, [&](report::Sink& to) { visit_switch(to, of, true); });
}

void TableText::visit_route(report::Sink& sink, Lid lid, std::optional<unsigned> port) const {
  sink.begin_object();
  sink.value("dlid", lid);
  sink.value("out_port", port);
  visit_destination(sink, port ? lid : Lid{});
  sink.end_object();
}

/// The rows are null if no block of the table was read. An example has one row, whatever was read.
void TableText::visit_switch(report::Sink& sink, const SwitchTable& of, bool is_example) const {
  const subnet::ForwardingTable* const table = of.has_info && !is_example ? of.table() : nullptr;
  const auto visit_group = [&sink](Lid mlid, const std::vector<std::uint8_t>& members) {
    sink.begin_object();
    sink.value("mlid", mlid);
    sink.values("out_ports", members);
    sink.end_object();
  };
  sink.begin_object();
  path::visit(sink, "path", of.path);
  sink.value("node_guid", of.node.node_guid);
  sink.value("node_description", of.description);
  sink.text_or_null("node_name", names_.find(of.node.node_guid).value_or(""));
  sink.value("num_ports", of.node.num_ports);
  sink.value_or_null("capacity", table != nullptr, table != nullptr ? table->capacity() : 0);
  if (!selection_.multicast) sink.value_or_null("top", table != nullptr, table != nullptr ? table->top() : 0);
  const std::string_view rows = selection_.multicast ? "groups" : "routes";
  if (is_example) {
    sink.begin_array(rows);
    selection_.multicast ? visit_group(Lid{}, {}) : visit_route(sink, Lid{}, std::nullopt);
    sink.end_array();
  } else if (!of.any_read()) {
    sink.null(rows);
  } else {
    sink.begin_array(rows);
    for (unsigned value = table->first(); value < table->end(); ++value) {
      const Lid lid{static_cast<std::uint16_t>(value)};
      if (!table->is_known(lid)) continue;
      if (of.multicast) {
        const std::vector<std::uint8_t> members = of.multicast->members(lid);
        if (selection_.all || !members.empty()) visit_group(lid, members);
      } else {
        const unsigned port = of.linear->out_port(lid);
        const bool valid = port <= of.node.num_ports;
        if (valid || selection_.all) visit_route(sink, lid, valid ? std::optional(port) : std::nullopt);
      }
    }
    sink.end_array();
  }
  if (selection_.multicast && table == nullptr) sink.null("default_out_ports");
  if (selection_.multicast && table != nullptr)
    sink.values("default_out_ports", subnet::default_multicast_ports(of.info, of.node.num_ports));
  sink.text_or_null("error", of.error ? of.error->message() : "");
  sink.end_object();
}

// Tables as infiniband-diags prints them.

namespace {

constexpr std::uint32_t first_mlid = subnet::first_multicast_lid.value, last_mlid = subnet::last_multicast_lid.value;
constexpr std::size_t longest_diags_text = 199;
constexpr std::string_view dump_unicast = "dump_unicast_tables", dump_multicast = "dump_multicast_tables";  // in remarks: C functions

bool has_multicast_top(const smp::SwitchInfo& info) { return info.multicast_fdb_top >= first_mlid - 1; }

/// The range of LIDs that is printed, also in the heading. `last` may be less than `first`.
struct PrintedLids {
  std::uint32_t first{}, last{};
};

PrintedLids printed_lids(const smp::SwitchInfo& info, const TableSelection& selection) {
  PrintedLids range{selection.first.value_or(0), selection.last.value_or(0)};
  if (!selection.multicast) {  // infiniband-diags prints signed numbers here
    const int top = info.linear_fdb_top;
    if (range.last == 0 || static_cast<int>(range.last) > top) range.last = info.linear_fdb_top;
    if (static_cast<int>(range.last) > int{last_unicast_lid}) range.last = last_unicast_lid;
    return range;
  }
  const std::uint32_t end = first_mlid + info.multicast_fdb_cap - 1;
  if (range.last == 0 || range.last > end) range.last = end;
  if (!selection.all && has_multicast_top(info) && info.multicast_fdb_top < range.last) range.last = info.multicast_fdb_top;
  range.first = std::max(range.first, first_mlid);
  range.last = std::min(range.last, last_mlid);
  return range;
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

}  // namespace

void make_diags_table(SwitchTable& of, const TableSelection& selection) {
  const PrintedLids range = printed_lids(of.info, selection);
  smp::SwitchInfo info = of.info;
  subnet::LidRange lids{Lid{0xffff}, Lid{0}};  // none
  if (selection.multicast) {
    if (selection.all) info.multicast_fdb_top = 0;
    if (range.first <= range.last)
      lids = {Lid{static_cast<std::uint16_t>(std::min(range.first, 0xffffU))}, Lid{static_cast<std::uint16_t>(range.last)}};
    of.multicast.emplace(info, of.node.num_ports, lids);
    return;
  }
  const int first = static_cast<int>(range.first), last = static_cast<int>(range.last);
  info.linear_fdb_cap = last_unicast_lid + 1;  // only LinearFDBTop counts
  if (first <= last && last > 0) lids = {Lid{static_cast<std::uint16_t>(std::max(first, 0))}, Lid{static_cast<std::uint16_t>(last)}};
  of.linear.emplace(info, lids);
}

async::Task<> DiagsTableText::text(TextOut& out, const SwitchTable& of) {
  if (of.multicast) co_return multicast(out, of);
  if (of.info.linear_fdb_top > last_unicast_lid && (!selection_.last || *selection_.last == 0 || *selection_.last > last_unicast_lid))
    warn(host_.world(), dump_unicast, fmt::format("illegal lft top {}, truncate to {}", of.info.linear_fdb_top, last_unicast_lid));
  const subnet::LinearTable& table = *of.linear;
  const PrintedLids range = printed_lids(of.info, selection_);
  base_ = last_ = 0;
  port_guid_ = {};
  out.print("Unicast lids [{:#x}-{:#x}] of switch {} guid {:#018x} ({}):\n", range.first, range.last, of.name, of.node.node_guid.value,
            diags_node_name(names_, of.node.node_guid, of.description.value_or("")));
  out.write("  Lid  Out   Destination\n       Port     Info \n");
  unsigned count = 0;
  for (unsigned value = table.first(); value < table.end(); ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (settled) co_await settled(lid);
    if (!table.is_known(lid) && breaks_off) co_return;
    const unsigned port = table.out_port(lid);
    const bool valid = port <= of.node.num_ports;
    if (!table.is_known(lid) || (!valid && !selection_.all)) continue;
    out.print("{:#06x} {:03} {}\n", value, port, destination(lid, valid));
    ++count;
  }
  out.print("{} {}lids dumped \n", count, selection_.all ? "" : "valid ");
}

/// The owner of a LID. If a port has several LIDs, the first row describes the port, and the other rows refer to the first.
std::string DiagsTableText::destination(Lid lid, bool valid) {
  if (selection_.no_destinations) return "";
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

void DiagsTableText::multicast(TextOut& out, const SwitchTable& of) const {
  const unsigned top = of.info.multicast_fdb_top;
  const std::uint32_t first = selection_.first.value_or(0), end = first_mlid + of.info.multicast_fdb_cap - 1;
  if (!selection_.all && top != 0 && !has_multicast_top(of.info))
    warn(host_.world(), dump_multicast, fmt::format("illegal top mlid {:x}", top));
  if (first != 0 && first < first_mlid)
    warn(host_.world(), dump_multicast, fmt::format("illegal start mlid {:x}, set to {:x}", first, first_mlid));
  const std::uint32_t last = selection_.last.value_or(0);
  const std::uint32_t shown = last == 0 || last > end ? end : last;
  if (shown > last_mlid) warn(host_.world(), dump_multicast, fmt::format("illegal end mlid {:x}, truncate to {:x}", shown, last_mlid));
  constexpr unsigned one_digit = 9;
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  const PrintedLids range = printed_lids(of.info, selection_);
  out.print("Multicast mlids [{:#x}-{:#x}] of switch {} guid {:#018x} ({}):\n", range.first, range.last, of.name, of.node.node_guid.value,
            diags_node_name(names_, of.node.node_guid, of.description.value_or("")));
  if (selection_.no_destinations) {
    out.write(" MLid       Port Mask\n");
  } else {
    // The tens are one character. After 9 follow the next characters of ASCII, as in infiniband-diags.
    const auto tens = [](unsigned port) { return std::string{port % 10 != 0 ? ' ' : static_cast<char>('0' + port / 10), ' '}; };
    if (ports > one_digit) out.print("            {}\n", port_columns(ports, tens));
    out.print("     Ports: {}\n MLid\n", port_columns(ports, [](unsigned port) { return fmt::format("{} ", port % 10); }));
  }
  if (host_.options().verbosity > 0)
    out.print("Switch multicast mlid capability is {} top is {:#x}\n", of.info.multicast_fdb_cap, of.info.multicast_fdb_top);
  unsigned count = 0;
  for (unsigned value = table.first(); value < table.end(); ++value) {
    const Lid mlid{static_cast<std::uint16_t>(value)};
    if (!table.is_known(mlid)) {
      if (breaks_off) return;
      continue;
    }
    bool any = false;
    const std::string mask = mask_text(table, mlid, any);
    if (!any && !selection_.all) continue;
    const auto member = [&](unsigned port) { return is_member(table, mlid, port) ? "x " : "  "; };
    out.print("{:#06x}      {}\n", value, selection_.no_destinations ? mask : port_columns(ports, member));
    ++count;
  }
  out.print("{} {}mlids dumped \n", count, selection_.all ? "" : "valid ");
}

}  // namespace ib::tools::tables
