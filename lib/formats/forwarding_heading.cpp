// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/forwarding_heading.hpp"

#include <limits>

#include "base/parse.hpp"
#include "formats/scanner.hpp"
#include "path/path.hpp"

namespace ib::formats {
namespace {

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
bool range(Scanner& scanner, ForwardingHeading& heading) {
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
bool diags_switch(std::string_view text, ForwardingHeading& heading) {
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
void ibtool_name(std::string_view text, ForwardingHeading& heading) {
  text = trim(text);
  constexpr std::string_view not_read = ": not read";
  if (heading.not_read && text.ends_with(not_read)) text.remove_suffix(not_read.size());
  if (text.starts_with('u')) text.remove_prefix(1);  // python-rdma on Python 2
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    heading.name = text.substr(1, text.size() - 2);
}

/// "DR Path (0, 1) 'NAME'"; "(0,)" is the host itself.
bool ibtool_directed(Scanner scanner, ForwardingHeading& heading) {
  if (!scanner.take("(")) return false;
  heading.directed_route = route(scanner, ", ");
  if (!heading.directed_route) return false;
  if (heading.directed_route->empty()) scanner.take(",");
  if (!scanner.take(") ")) return false;
  ibtool_name(scanner.rest(), heading);
  return true;
}

/// "Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'NAME'"; with GIDs "Path fe80::1 1 -> fe80::2 2 TC=0 FL=0 HL=0 SL=0 …".
bool ibtool_routed(Scanner scanner, ForwardingHeading& heading) {
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

}  // namespace

bool is_heading(std::string_view line) {
  return line.starts_with(unicast_words) || line.starts_with(multicast_words) || line.starts_with("Switch 0x") ||
         line.find("ucast_routes: Switch ") < line.find(' ');
}

std::optional<ForwardingHeading> parse_heading(std::string_view line) {
  ForwardingHeading heading;
  Scanner scanner(line);
  heading.multicast = scanner.take(multicast_words);
  if (heading.multicast || scanner.take(unicast_words)) {
    const bool has_range = range(scanner, heading);
    if (!scanner.take("of switch ")) return std::nullopt;
    if (diags_switch(scanner.rest(), heading)) return has_range ? std::optional(heading) : std::nullopt;
    heading.not_read = !has_range;
    if (!has_range && !trim(scanner.rest()).ends_with(": not read")) return std::nullopt;
    if (scanner.take("DR Path ") ? ibtool_directed(scanner, heading) : scanner.take("Path ") && ibtool_routed(scanner, heading))
      return heading;
    return std::nullopt;
  }
  if (!is_heading(line)) return std::nullopt;
  heading.multicast = line.starts_with(switch_word);
  if (!heading.multicast) scanner.until(": ");
  if (!scanner.take(switch_word)) return std::nullopt;
  const auto guid = scanner.number(any_guid);
  scanner.skip_blanks();
  if (!guid || !scanner.at_end()) return std::nullopt;
  heading.node_guid = Guid{*guid};
  return heading;
}

}  // namespace ib::formats
