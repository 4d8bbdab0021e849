// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/forwarding_tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools::tables {

void add_selection(OptionSet& set, TableSelection& selection, bool of_all_switches) {
  constexpr Range<std::uint32_t> lids{0, permissive_lid.value};
  set.optional_operands();
  set.integer("START_LID", selection.first, lids);
  set.integer("END_LID", selection.last, lids);
  set.flag("-a --all", selection.all, all_help);
  set.flag("-n --no_dests --no-dests", selection.no_destinations,
           of_all_switches ? "Do not say whose the LIDs are." : "Do not look up the owners of LIDs.");
  set.flag("-M --Multicast --multicast", selection.multicast,
           of_all_switches ? "Show the multicast forwarding tables." : "Show the multicast forwarding table.");
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
  return has_info && of != nullptr && (of->complete() || std::ranges::any_of(of->lids(), [of](Lid at) { return of->is_known(at); }));
}

namespace {

/// The texts of `column` for the ports from 0 to `ports`.
template <class Column>
std::string port_columns(unsigned ports, std::string_view separator, Column column) {
  std::string text;
  for (unsigned port = 0; port <= ports; ++port) text.append(port == 0 ? "" : separator).append(column(port));
  return text;
}

/// The text behind the number of entries if there may be more.
std::string unread_text(const SwitchTable& of) {
  const std::size_t blocks = of.table()->unknown_blocks().size();
  return blocks == 0 ? "" : fmt::format(", {} {} not read", blocks, blocks == 1 ? "block" : "blocks");
}

std::string type_text(smp::NodeType type) {
  const std::string_view text = to_text(type);
  return text.empty() ? std::to_string(static_cast<unsigned>(type)) : std::string(text);
}

// Of tables as infiniband-diags prints them.
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

/// The first line of a table, but its first word.
std::string heading(const SwitchTable& of, const PrintedLids& range, const subnet::NodeNameMap& names) {
  return fmt::format("lids [{:#x}-{:#x}] of switch {} guid {:#018x} ({}):\n", range.first, range.last, of.name, of.node.node_guid.value,
                     diags_node_name(names, of.node.node_guid, of.description.value_or("")));
}

}  // namespace

std::string TableText::name_text(Guid node, const std::optional<std::string>& description) const {
  const auto mapped = names.find(node);
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
  if (whole_blocks && !selection.last) end = (end + per_block - 1) / per_block * per_block;
  out.print("Unicast lids [{}-{}] of switch {}\n  Lid  Out   Destination\n       Port     Info\n", table.first(), end - 1, title(of));
  for (unsigned value = table.first(); value < end; ++value) {  // printed one by one: there are up to 49,151 rows
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (settled) co_await settled(lid);
    if (table.covers(lid) && !table.is_known(lid)) continue;
    const unsigned port = table.out_port(lid);
    std::string whose;
    if (port > of.node.num_ports) {
      if (!selection.all) continue;
      whose = lid == Lid{} ? "(reserved LID - illegal port)" : "(illegal port)";
    } else if (const auto to = find(lid)) {
      whose = fmt::format("({} portguid {} {})", type_text(to->node.node_type), to_text(to->node.port_guid),
                          name_text(to->node.node_guid, to->description));
    }
    out.print("{:6} {:03} : {}\n", value, port, whose);
    ++count;
  }
  out.print("{} {}lids dumped{}\n", count, selection.all ? "" : "valid ", unread_text(of));
}

void TableText::multicast(TextOut& out, const SwitchTable& of) const {
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  const auto row = [ports](auto is_set) { return port_columns(ports, " ", [&](unsigned port) { return is_set(port) ? " x " : "   "; }); };
  out.print("Multicast mlids [{:#x}-{:#x}] of switch {}\n", table.first(), std::max(table.end(), table.first() + 1) - 1, title(of));
  out.print("     Ports: {}\n MLid\n", port_columns(ports, " ", [](unsigned port) { return fmt::format("{:3}", port); }));
  unsigned count = 0;
  for (const Lid mlid : table.lids()) {
    if (!table.is_known(mlid) || (!selection.all && table.members(mlid).empty())) continue;
    out.print("{:#x}       {}\n", mlid.value, row([&](unsigned port) { return table.is_member(mlid, port); }));
    ++count;
  }
  const std::vector<std::uint8_t> others = subnet::default_multicast_ports(of.info, ports);
  if (!others.empty()) out.print("default      {}\n", row([&](unsigned port) { return std::ranges::find(others, port) != others.end(); }));
  out.print("{} {}mlids dumped{}\n", count, selection.all ? "" : "valid ", unread_text(of));
}

void TableText::visit(report::Sink& sink, const SwitchTable& of) const {
  announce(sink, of);
  visit_switch(sink, of, false);
}

void TableText::announce(report::Sink& sink, const SwitchTable& of) const {
  report::announce(sink, [&](report::Sink& to) { visit_switch(to, of, true); });
}

/// The owner of a LID to which nothing is forwarded is not looked for.
void TableText::visit_route(report::Sink& sink, Lid lid, std::optional<unsigned> port) const {
  const std::optional<subnet::LidOwner> found = find(port ? lid : Lid{});
  const auto members = [&](report::Sink& of) { subnet::visit(of, found ? &*found : nullptr, names); };
  sink.begin_object();
  sink.value("dlid", lid);
  sink.value("out_port", port);
  if (!found) sink.null_object("destination", members);
  if (found) {
    sink.begin_object("destination");
    members(sink);
    sink.end_object();
  }
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
  sink.text_or_null("node_name", names.find(of.node.node_guid).value_or(""));
  sink.value("num_ports", of.node.num_ports);
  sink.value_or_null("capacity", table != nullptr, table != nullptr ? table->capacity() : 0);
  if (!selection.multicast) sink.value_or_null("top", table != nullptr, table != nullptr ? table->top() : 0);
  const std::string_view rows = selection.multicast ? "groups" : "routes";
  if (!is_example && !of.any_read()) {
    sink.null(rows);
  } else {
    sink.begin_array(rows);
    if (is_example) selection.multicast ? visit_group(Lid{}, {}) : visit_route(sink, Lid{}, std::nullopt);
    for (const Lid lid : table != nullptr ? table->lids() : subnet::LinearTable().lids()) {
      if (!table->is_known(lid)) continue;
      if (of.multicast) {
        const std::vector<std::uint8_t> members = of.multicast->members(lid);
        if (selection.all || !members.empty()) visit_group(lid, members);
      } else {
        const unsigned port = of.linear->out_port(lid);
        const bool valid = port <= of.node.num_ports;
        if (valid || selection.all) visit_route(sink, lid, valid ? std::optional(port) : std::nullopt);
      }
    }
    sink.end_array();
  }
  if (selection.multicast && table == nullptr) sink.null("default_out_ports");
  if (selection.multicast && table != nullptr)
    sink.values("default_out_ports", subnet::default_multicast_ports(of.info, of.node.num_ports));
  sink.text_or_null("error", of.error ? of.error->message() : "");
  sink.end_object();
}

void make_table(SwitchTable& of, const TableSelection& selection) {
  smp::SwitchInfo info = of.info;
  std::int64_t first = selection.first.value_or(0), last = selection.last.value_or(permissive_lid.value);
  if (selection.diags) {
    const PrintedLids range = printed_lids(info, selection);
    first = selection.multicast ? std::int64_t{range.first} : static_cast<int>(range.first);
    last = selection.multicast ? std::int64_t{range.last} : static_cast<int>(range.last);
    info.linear_fdb_cap = last_unicast_lid + 1;
    if (selection.all) info.multicast_fdb_top = 0;
    if (first > last || last <= 0) std::tie(first, last) = std::pair(0xffff, 0);  // none
  }
  const subnet::LidRange lids{Lid{static_cast<std::uint16_t>(std::clamp<std::int64_t>(first, 0, 0xffff))},
                              Lid{static_cast<std::uint16_t>(last)}};
  if (selection.multicast) {
    of.multicast.emplace(info, of.node.num_ports, lids);
  } else {
    of.linear.emplace(info, lids);
  }
}

async::Task<> DiagsTableText::text(TextOut& out, const SwitchTable& of) const {
  if (of.multicast) co_return multicast(out, of);
  if (of.info.linear_fdb_top > last_unicast_lid && (!selection.last || *selection.last == 0 || *selection.last > last_unicast_lid))
    warn(host.world(), dump_unicast, fmt::format("illegal lft top {}, truncate to {}", of.info.linear_fdb_top, last_unicast_lid));
  const subnet::LinearTable& table = *of.linear;
  LidsOfPort shown;
  out.print("Unicast {}  Lid  Out   Destination\n       Port     Info \n", heading(of, printed_lids(of.info, selection), names));
  unsigned count = 0;
  for (const Lid lid : table.lids()) {
    if (settled) co_await settled(lid);
    if (!table.is_known(lid) && breaks_off) co_return;
    const unsigned port = table.out_port(lid);
    const bool valid = port <= of.node.num_ports;
    if (!table.is_known(lid) || (!valid && !selection.all)) continue;
    out.print("{:#06x} {:03} {}\n", lid.value, port, destination(shown, lid, valid));
    ++count;
  }
  out.print("{} {}lids dumped \n", count, selection.all ? "" : "valid ");
}

/// The owner of a LID. If a port has several LIDs, the first row describes the port, and the other rows refer to the first.
std::string DiagsTableText::destination(LidsOfPort& port, Lid lid, bool valid) const {
  if (selection.no_destinations) return "";
  if (lid.value <= port.last) {
    const unsigned at = lid.value - port.base;
    if (!valid) return fmt::format(": (path #{} - illegal port)", static_cast<int>(at));
    const std::string of = fmt::format(": (path #{} out of {}", static_cast<int>(at + 1), static_cast<int>(port.last - port.base + 1));
    return port.guid.value == 0 ? of + ")" : fmt::format("{}: portguid {:#018x})", of, port.guid.value);
  }
  if (!valid) return ": (illegal port)";
  port.guid = {};
  const auto to = find(lid);
  if (!to) return fmt::format(": ({})", no_owner);
  port.guid = to->node.port_guid;
  if (to->lmc > 0) {
    port.base = to->lid.value;
    port.last = port.base + (1U << to->lmc) - 1;
  }
  const std::string type = libibmad_text(LibibmadText::node_type, static_cast<unsigned>(to->node.node_type), 8);
  std::string text = fmt::format(": ({} portguid {:#018x}: '{}')", type, to->node.port_guid.value,
                                 diags_node_name(names, to->node.node_guid, to->description.value_or("")));
  if (text.size() > longest_diags_text) text.resize(longest_diags_text);
  return text;
}

void DiagsTableText::multicast(TextOut& out, const SwitchTable& of) const {
  const unsigned top = of.info.multicast_fdb_top;
  const std::uint32_t first = selection.first.value_or(0), end = first_mlid + of.info.multicast_fdb_cap - 1;
  if (!selection.all && top != 0 && !has_multicast_top(of.info))
    warn(host.world(), dump_multicast, fmt::format("illegal top mlid {:x}", top));
  if (first != 0 && first < first_mlid)
    warn(host.world(), dump_multicast, fmt::format("illegal start mlid {:x}, set to {:x}", first, first_mlid));
  const std::uint32_t last = selection.last.value_or(0);
  const std::uint32_t shown = last == 0 || last > end ? end : last;
  if (shown > last_mlid) warn(host.world(), dump_multicast, fmt::format("illegal end mlid {:x}, truncate to {:x}", shown, last_mlid));
  constexpr unsigned one_digit = 9;
  const subnet::MulticastTable& table = *of.multicast;
  const unsigned ports = of.node.num_ports;
  out.print("Multicast m{}", heading(of, printed_lids(of.info, selection), names));
  if (selection.no_destinations) {
    out.write(" MLid       Port Mask\n");
  } else {
    // The tens are one character. After 9 follow the next characters of ASCII, as in infiniband-diags.
    const auto tens = [](unsigned port) { return std::string{port % 10 != 0 ? ' ' : static_cast<char>('0' + port / 10), ' '}; };
    if (ports > one_digit) out.print("            {}\n", port_columns(ports, "", tens));
    out.print("     Ports: {}\n MLid\n", port_columns(ports, "", [](unsigned port) { return fmt::format("{} ", port % 10); }));
  }
  if (host.options().verbosity > 0)
    out.print("Switch multicast mlid capability is {} top is {:#x}\n", of.info.multicast_fdb_cap, of.info.multicast_fdb_top);
  unsigned count = 0;
  for (const Lid mlid : table.lids()) {
    if (!table.is_known(mlid) && breaks_off) return;
    if (!table.is_known(mlid) || (!selection.all && table.members(mlid).empty())) continue;
    std::string masks;  // in groups of 16 ports
    for (unsigned position = 0; position < table.positions(); ++position) masks += fmt::format("{:04x}", table.mask(mlid, position));
    const auto member = [&](unsigned port) { return table.is_member(mlid, port) ? "x " : "  "; };
    out.print("{:#06x}      {}\n", mlid.value, selection.no_destinations ? masks : port_columns(ports, "", member));
    ++count;
  }
  out.print("{} {}mlids dumped \n", count, selection.all ? "" : "valid ");
}

}  // namespace ib::tools::tables
