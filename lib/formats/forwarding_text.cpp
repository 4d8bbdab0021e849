// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/forwarding_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "formats/line_file.hpp"
#include "path/path.hpp"

namespace ib::formats {
namespace {

constexpr std::uint16_t first_mlid = 0xc000, last_mlid = 0xfffe;
constexpr std::size_t lid_count = 0x10000, most_switches = last_unicast_lid;
constexpr unsigned most_ports = 256;
constexpr std::string_view ports_word = "     Ports: ";

/// The lines between a heading and its rows.
constexpr std::array headers = {std::string_view("Lid  Out   Destination"), std::string_view("Port     Info"),
                                std::string_view("LID    : Port : Hops : Optimal"), std::string_view("LID    : Out Port(s)"),
                                std::string_view("MLid")};
constexpr std::string_view masks_header = "MLid       Port Mask";

constexpr std::string_view unicast_words = "Unicast lids ", multicast_words = "Multicast mlids ", switch_word = "Switch ";
constexpr std::uint64_t any_guid = std::numeric_limits<std::uint64_t>::max();

/// The ports of a route, with `separator` between them, from the 0 of the host on.
std::optional<std::vector<std::uint8_t>> route(Scanner& scanner, std::string_view separator) {
  constexpr std::uint64_t last_port = 254;
  if (scanner.number(0) != 0U) return std::nullopt;
  std::vector<std::uint8_t> ports;
  while (ports.size() < path::max_hops) {
    Scanner ahead = scanner;
    if (!ahead.take(separator)) break;
    const auto port = ahead.number(last_port);
    if (!port) break;
    ports.push_back(static_cast<std::uint8_t>(*port));
    scanner = ahead;
  }
  return ports;
}

/// "[0x0-0x13] "
bool range(Scanner& scanner, StoredForwardingTable& heading) {
  constexpr std::uint64_t last_lid = 0xffff;
  if (!scanner.take("[")) return false;
  const auto first = scanner.number(last_lid);
  if (!first || !scanner.take("-")) return false;
  const auto last = scanner.number(last_lid);
  if (!last || !scanner.take("] ")) return false;
  heading.first = static_cast<std::uint16_t>(*first);
  heading.last = static_cast<std::uint16_t>(*last);
  return true;
}

std::optional<Lid> lid(Scanner& scanner) {
  const auto number = scanner.number(last_unicast_lid);
  return number ? std::optional(Lid{static_cast<std::uint16_t>(*number)}) : std::nullopt;
}

/// A LID of a directed route that is not used: infiniband-diags writes 0 or 65535.
bool unused_lid(Scanner& scanner) {
  const auto number = scanner.number(permissive_lid.value);
  return number && (*number == 0 || *number == permissive_lid.value);
}

/// "Lid 2 guid 0x0002c90200400100 (NAME):", and with "DR path slid 0; dlid 0; 0,1". A route that begins or ends at a LID is left out.
bool diags_switch(std::string_view text, StoredForwardingTable& heading) {
  Scanner scanner(text);
  const auto path = scanner.until(" guid ");
  const auto guid = path ? scanner.number(any_guid) : std::nullopt;
  if (!guid || !scanner.take(" (")) return false;
  heading.node_guid = Guid{*guid};
  Scanner words(*path);
  if (words.take("Lid ")) heading.lid = lid(words);
  if (words.take("DR path slid ") && unused_lid(words) && words.take("; dlid ") && unused_lid(words) && words.take("; "))
    heading.directed_route = route(words, ",");
  std::string_view name = trim(scanner.rest());
  name = name.substr(0, name.rfind(')'));
  if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
  heading.name = name;
  return true;
}

/// 'NAME' as ibtool quotes it, or None.
void ibtool_name(std::string_view text, StoredForwardingTable& heading) {
  text = trim(text);
  constexpr std::string_view not_read = ": not read";
  if (heading.not_read && text.ends_with(not_read)) text.remove_suffix(not_read.size());
  if (text.starts_with('u')) text.remove_prefix(1);  // python-rdma on Python 2
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    heading.name = text.substr(1, text.size() - 2);
}

/// "DR Path (0, 1) 'NAME'"; "(0,)" is the host itself.
bool ibtool_directed(Scanner scanner, StoredForwardingTable& heading) {
  if (!scanner.take("(")) return false;
  heading.directed_route = route(scanner, ", ");
  if (!heading.directed_route) return false;
  if (heading.directed_route->empty()) scanner.take(",");
  if (!scanner.take(") ")) return false;
  ibtool_name(scanner.rest(), heading);
  return true;
}

/// "Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'NAME'"; with GIDs "Path fe80::1 1 -> fe80::2 2 TC=0 FL=0 HL=0 SL=0 …".
bool ibtool_routed(Scanner scanner, StoredForwardingTable& heading) {
  const auto from = scanner.until(" -> ");
  if (!from) return false;
  Scanner ahead = scanner;
  heading.lid = lid(ahead);
  if (!heading.lid || !ahead.take(" ")) {
    if (!scanner.until(" ")) return false;
    heading.lid = lid(scanner);
    ahead = scanner;
  }
  if (!heading.lid || !ahead.until("DQPN=")) return false;
  ahead.until(" ");
  ibtool_name(ahead.rest(), heading);
  return true;
}

/// Whether `line` begins as a heading does. If parse_heading() then returns false, the heading is broken.
bool is_heading(std::string_view line) {
  return line.starts_with(unicast_words) || line.starts_with(multicast_words) || line.starts_with("Switch 0x") ||
         line.find("ucast_routes: Switch ") < line.find(' ');
}

/// Reads a heading into a new table. Returns false if `line` is not a heading or names no switch.
bool parse_heading(std::string_view line, StoredForwardingTable& heading) {
  Scanner scanner(line);
  heading.multicast = scanner.take(multicast_words);
  if (heading.multicast || scanner.take(unicast_words)) {
    const bool has_range = range(scanner, heading);
    if (!scanner.take("of switch ")) return false;
    if (diags_switch(scanner.rest(), heading)) return has_range;
    heading.not_read = !has_range;
    if (!has_range && !trim(scanner.rest()).ends_with(": not read")) return false;
    return scanner.take("DR Path ") ? ibtool_directed(scanner, heading) : scanner.take("Path ") && ibtool_routed(scanner, heading);
  }
  if (!is_heading(line)) return false;
  heading.multicast = line.starts_with(switch_word);
  if (!heading.multicast) scanner.until(": ");
  if (!scanner.take(switch_word)) return false;
  const auto guid = scanner.number(any_guid);
  scanner.skip_blanks();
  if (!guid || !scanner.at_end()) return false;
  heading.node_guid = Guid{*guid};
  return true;
}

/// A text that identifies the switch of a table. It is the same for each table of a switch that the file names in the same way.
std::string identity(const StoredForwardingTable& table) {
  if (table.node_guid) return to_text(*table.node_guid);
  if (table.port_guid) return "port " + to_text(*table.port_guid);
  if (table.lid) return "LID " + to_text(*table.lid);
  std::string text = "DR path 0";
  for (const std::uint8_t port : *table.directed_route) text += fmt::format(",{}", port);
  return text;
}

std::string switch_text(const StoredForwardingTable& table) {
  return identity(table) + (table.name.empty() ? "" : " " + in_quotes(table.name));
}

/// Sorts rows by LID. Of several rows of a LID only the last one stays, and `repeated` gets the LID.
template <class Row>
void sort_rows(std::vector<Row>& rows, std::set<std::uint16_t>& repeated) {
  if (!std::ranges::is_sorted(rows, {}, &Row::lid)) std::ranges::stable_sort(rows, {}, &Row::lid);
  std::size_t kept = 0;
  for (const Row& row : rows) {
    const bool is_repeated = kept > 0 && rows[kept - 1].lid == row.lid;
    if (is_repeated) repeated.insert(row.lid.value);
    rows[is_repeated ? kept - 1 : kept++] = row;
  }
  rows.resize(kept);
}

template <class Row>
void add_row(std::vector<Row>& rows, const Row& row, std::set<std::uint16_t>& repeated) {
  if (rows.size() == 2 * lid_count) sort_rows(rows, repeated);  // however often a file repeats a LID
  rows.push_back(row);
}

/// Adds a LID to runs of LIDs. Returns whether it was in none of them.
bool add_to_runs(std::map<std::uint16_t, std::uint16_t>& runs, std::uint16_t lid) {
  const auto after = runs.upper_bound(lid);
  const auto before = after == runs.begin() ? runs.end() : std::prev(after);
  if (before != runs.end() && before->second >= lid) return false;
  const bool joins_before = before != runs.end() && before->second + 1 == lid;
  const bool joins_after = after != runs.end() && after->first == lid + 1;
  const std::uint16_t last = joins_after ? after->second : lid;
  if (joins_after) runs.erase(after);
  if (joins_before) {
    before->second = last;
  } else {
    runs.emplace(lid, last);
  }
  return true;
}

constexpr std::uint8_t last_sl = 15;  // IBA 7.6.5: SLs have 4 bits

/// A number, and behind it a blank or the end of the line.
std::optional<std::uint64_t> number(Scanner& scanner, std::uint64_t most) {
  scanner.skip_blanks();
  const auto value = scanner.number(most);
  return value && (scanner.at_end() || scanner.take(" ") || scanner.take("\t")) ? value : std::nullopt;
}

std::optional<StoredServiceLevel> service_level(std::string_view line) {
  Scanner scanner(line);
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  scanner.take(word);
  const auto source = guid_in(word);
  const auto dlid = source ? number(scanner, last_unicast_lid) : std::nullopt;
  const auto sl = dlid ? number(scanner, last_sl) : std::nullopt;
  if (!sl || !scanner.at_end()) return std::nullopt;
  return StoredServiceLevel{*source, Lid{static_cast<std::uint16_t>(*dlid)}, static_cast<std::uint8_t>(*sl)};
}

}  // namespace

bool StoredForwardingTable::says(Lid of) const {
  if (of.value >= first_listed && (of.value <= last_listed || (to_top && first_listed <= last_listed))) return true;
  return multicast ? std::ranges::binary_search(groups, of, {}, &StoredGroup::lid)
                   : std::ranges::binary_search(routes, of, {}, &StoredRoute::lid);
}

void ForwardingTextReader::refuse(std::string_view why) const { throw UsageError(at_line(path_, number_, why)); }

void ForwardingTextReader::remark(std::size_t line, std::string_view text) {
  if (remarks_.size() < most_remarks) {
    remarks_.push_back(at_line(path_, line, text));
  } else {
    ++further_remarks_;
  }
}

std::vector<std::string> ForwardingTextReader::remarks() const {
  std::vector<std::string> all = remarks_;
  if (further_remarks_ > 0) all.push_back(fmt::format("{}: {} more such remarks", harmless_line(path_), further_remarks_));
  return all;
}

void ForwardingTextReader::line(std::string_view text) {
  ++number_;
  const std::string_view words = trim(text);
  if (words.empty() || words.starts_with('#') || words.starts_with("*** WARNING ***")) return;
  if (is_digit(words.front()) && table_ && !table_->multicast) {  // most lines, so these are recognised first
    if (!last_line(words)) row(text);
    return;
  }
  if (is_heading(text)) return begin(text);
  if (!table_) refuse("no line above says which switch this is about");
  if (is_header(text) || last_line(words)) return;
  row(text);
}

void ForwardingTextReader::cut_line(std::string_view text) {
  const std::string_view words = trim(text);
  const bool ends_table = table_ && rows_ && (words.ends_with(" dumped") || words.ends_with(" not read"));
  if (words.empty() || words.starts_with('#') || ends_table) return line(text);
  ++number_;
  remark(number_, "this last line is incomplete: it does not count");
  breaks_off_ = table_.has_value();
}

void ForwardingTextReader::end() {
  if (table_ && lists_all_) {
    breaks_off_ = breaks_off_ || std::ranges::none_of(table_->routes, [&](const StoredRoute& at) { return at.lid.value >= last_of_all_; });
  }
  finish();
  if (tables_ == 0) throw UsageError(fmt::format("{}: this file holds no forwarding table", harmless_line(path_)));
}

void ForwardingTextReader::begin(std::string_view text) {
  finish();
  if (!parse_heading(text, table_.emplace())) refuse("this line does not say which switch the table below it belongs to");
  table_->line = number_;
  rows_ = !table_->not_read;
  lists_all_ = !table_->first && !table_->multicast;
  table_->leaves_out_empty = !table_->first && table_->multicast && rows_;
  form_ = GroupForm::numbers;
  if (!rows_) return;
  const std::uint16_t from = table_->multicast ? first_mlid : 0;
  table_->first_listed = std::max<std::uint16_t>(table_->first.value_or(from), std::max<std::uint16_t>(from, 1));
  table_->last_listed = table_->last.value_or(table_->multicast ? last_mlid : last_unicast_lid);
  table_->to_top = table_->first.value_or(from) <= from;
}

/// Passes the table that was read to the user of the reader.
void ForwardingTextReader::finish() {
  if (!table_) return;
  sort_rows(table_->routes, repeated_);
  sort_rows(table_->groups, repeated_);
  if (rows_ && (table_->first || breaks_off_))  // a line below the rows ends the table of a heading with LIDs
    break_off();
  if (lists_all_ && !table_->routes.empty()) last_of_all_ = std::max(last_of_all_, table_->routes.back().lid.value);
  if (above_top_ > 0) {
    remark(table_->line, fmt::format("{} of switch {} {} above LID {}, the last one of the heading: {} not count",
                                     above_top_ == 1 ? "1 row" : fmt::format("{} rows", above_top_), switch_text(*table_),
                                     above_top_ == 1 ? "is" : "are", *table_->last, above_top_ == 1 ? "it does" : "they do"));
    above_top_ = 0;
  }
  remark_repeated();
  ++tables_;
  take_(std::move(*table_));
  table_.reset();
}

/// The file ends within the table: the entries behind its last row are not known.
void ForwardingTextReader::break_off() {
  const std::uint16_t last = table_->multicast ? (table_->groups.empty() ? 0 : table_->groups.back().lid.value)
                                               : (table_->routes.empty() ? 0 : table_->routes.back().lid.value);
  table_->last_listed = std::min(table_->last_listed, last);
  table_->to_top = false;
  remark(number_, fmt::format("the table of switch {} breaks off: its entries above LID {} are not known", switch_text(*table_), last));
}

/// Adds remarks on the LIDs with two rows for one switch, in this table or in it and an earlier one.
void ForwardingTextReader::remark_repeated() {
  const std::string of = identity(*table_) + (table_->multicast ? " M" : "");
  if (!seen_.contains(of) && seen_.size() >= most_switches) refuse("more switches than a subnet can have");
  Seen& seen = seen_[of];
  if (seen.line == 0) seen.line = table_->line;
  const auto mark = [&](Lid lid) {
    if (!add_to_runs(seen.runs, lid.value)) repeated_.insert(lid.value);
  };
  for (const StoredRoute& route : table_->routes) mark(route.lid);
  for (const StoredGroup& group : table_->groups) mark(group.lid);
  if (repeated_.empty()) return;
  const std::size_t count = repeated_.size();
  const std::string which =
      count == 1 ? fmt::format("LID {}", *repeated_.begin()) : fmt::format("{} LIDs, {} the first of them,", count, *repeated_.begin());
  const std::string first = seen.line == table_->line ? "" : fmt::format(", whose first table is in line {}", seen.line);
  remark(table_->line, fmt::format("{} {} listed twice for switch {}{}: the last row counts", which, count == 1 ? "is" : "are",
                                   switch_text(*table_), first));
  repeated_.clear();
}

/// Whether `text` is one of the lines between a heading and its rows. These lines show the form in which the rows list the ports of a
/// group.
bool ForwardingTextReader::is_header(std::string_view text) {
  const std::string_view words = trim(text);
  if (std::ranges::find(headers, words) != headers.end()) return true;
  if (!table_->multicast) return false;
  if (words == masks_header) {
    form_ = GroupForm::masks;
    return true;
  }
  if (text.starts_with(ports_word)) {  // both write the last digit of port 0 above the first column
    const std::size_t column = text.find('0');
    if (column == std::string_view::npos) return false;
    form_ = GroupForm::columns;
    first_column_ = static_cast<unsigned>(column);
    column_step_ = column == ports_word.size() ? 2 : 4;
    return true;
  }
  // infiniband-diags writes the tens of the port numbers above them, and with -v the capacity of the switch.
  return text.starts_with("            ") || words.starts_with("Switch multicast mlid capability is ");
}

/// Whether `words` is the line below the rows: "19 valid lids dumped".
bool ForwardingTextReader::last_line(std::string_view words) {
  Scanner scanner(words);
  if (!scanner.number(std::numeric_limits<std::uint32_t>::max()) || !scanner.take(" ")) return false;
  scanner.take("valid ");
  if (!scanner.take(table_->multicast ? "mlids dumped" : "lids dumped")) return false;
  if (!rows_) refuse("a second line that ends this table");
  rows_ = false;
  if (scanner.at_end()) return true;
  if (!scanner.rest().ends_with(" not read")) refuse("not a line of a forwarding table");
  table_->first_listed = 1;  // rows are missing somewhere
  table_->last_listed = 0;
  return true;
}

void ForwardingTextReader::row(std::string_view text) {
  Scanner scanner(text);
  scanner.skip_blanks();
  if (table_->multicast && scanner.take("default ")) return;  // ibtool prints SwitchInfo's default ports
  const auto number = scanner.number(permissive_lid.value);
  if (!number || !(scanner.at_end() || scanner.take(" "))) refuse("not a line of a forwarding table");
  if (!rows_) refuse("a row after the end of its table");
  const Lid lid{static_cast<std::uint16_t>(*number)};
  const bool counts = !table_->last || lid.value <= *table_->last;
  if (!counts) ++above_top_;
  if (table_->multicast) {
    if (lid.value < first_mlid || lid.value > last_mlid) refuse(fmt::format("{} is not a multicast LID", to_hex(lid.value)));
    const StoredGroup group{lid, group_ports(text, scanner.rest())};
    if (counts) add_row(table_->groups, group, repeated_);
  } else {
    if (lid.value > last_unicast_lid) refuse(fmt::format("{} is not a unicast LID", to_hex(lid.value)));
    route_row(lid, scanner.rest(), counts);
  }
}

/// "001 : (Channel Adapter portguid …)", "001 # …", ": 001  : 01   : yes", ": UNREACHABLE"
void ForwardingTextReader::route_row(Lid lid, std::string_view rest, bool counts) {
  Scanner scanner(rest);
  scanner.skip_blanks();
  if (scanner.take(":")) scanner.skip_blanks();
  const auto port = scanner.take("UNREACHABLE") ? std::optional<std::uint64_t>(no_port) : scanner.number(no_port);
  if (!port || !(scanner.at_end() || scanner.rest().front() == ' ')) refuse(fmt::format("no output port for LID {}", lid.value));
  if (lid.value == 0 || !counts) return;  // 0 is reserved: ibroute -a prints it
  if (*port == 0) own_row(scanner.rest());
  add_row(table_->routes, {lid, static_cast<std::uint8_t>(*port)}, repeated_);
}

/// " : (Switch portguid 0x0002c90200400100: 'leaf 1')": the switch itself.
void ForwardingTextReader::own_row(std::string_view rest) {
  Scanner scanner(rest);
  scanner.skip_blanks();
  if (!(scanner.take(": (") || scanner.take("# ")) || !scanner.take("Switch portguid ")) return;
  const std::string_view words = scanner.rest();
  const std::string_view word = words.substr(0, words.find_first_of(" )"));
  if (const auto guid = parse_guid(word.ends_with(':') ? word.substr(0, word.size() - 1) : word)) table_->port_guid = guid;
}

/// The ports of a group: "x" in the columns of the ports, masks of 16 ports each, or ": 0x001  0x002".
std::bitset<256> ForwardingTextReader::group_ports(std::string_view text, std::string_view rest) const {
  std::bitset<most_ports> ports;
  Scanner scanner(rest);
  scanner.skip_blanks();
  if (form_ == GroupForm::columns) {
    for (std::size_t at = text.size() - scanner.rest().size(); at < text.size(); ++at) {
      if (text[at] == ' ') continue;
      const std::size_t port = (at - first_column_) / column_step_;
      if (text[at] != 'x' || at < first_column_ || (at - first_column_) % column_step_ != 0 || port >= most_ports - 1)
        refuse("an x that stands below no port");
      ports.set(port);
    }
  } else if (form_ == GroupForm::masks) {
    const std::string_view digits = trim(scanner.rest());
    if (digits.empty() || digits.size() % 4 != 0 || digits.size() > most_ports / 4) refuse("not a mask of ports");
    for (std::size_t position = 0; position * 4 < digits.size(); ++position) {
      const auto mask = parse_digits(digits.substr(position * 4, 4), 16);
      if (!mask) refuse("not a mask of ports");
      for (std::size_t bit = 0; bit < 16; ++bit) ports[position * 16 + bit] = (*mask >> bit & 1U) != 0;
    }
    if (ports[most_ports - 1]) refuse("no switch has a port 255");
  } else {
    if (!scanner.take(":")) refuse("no output ports");
    for (scanner.skip_blanks(); !scanner.at_end(); scanner.skip_blanks()) {
      const auto port = scanner.number(most_ports - 2);
      if (!port) refuse("not the number of a port");
      ports.set(static_cast<std::size_t>(*port));
    }
  }
  return ports;
}

std::vector<std::string> read_forwarding_text(const std::string& path, const TakeTable& take) {
  LineFile file(path);
  ForwardingTextReader reader(path, take);
  while (const auto line = file.next()) file.has_end() ? reader.line(*line) : reader.cut_line(*line);
  reader.end();
  return reader.remarks();
}

void read_service_levels(const std::string& path, const TakeServiceLevel& take) {
  LineFile file(path);
  bool any = false;
  while (const auto line = file.next()) {
    const std::string_view words = trim(*line);
    if (words.empty() || words.starts_with('#')) continue;
    const auto pair = service_level(words);
    if (!pair) throw UsageError(at_line(path, file.number(), "not a line of NODE_GUID DLID SL"));
    take(*pair);
    any = true;
  }
  if (!any) throw UsageError(fmt::format("{}: this file holds no SL", harmless_line(path)));
}

}  // namespace ib::formats
