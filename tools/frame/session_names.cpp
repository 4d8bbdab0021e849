// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets by name, in ibtool's dialect. A word that is no address is looked up among the names of nodes: those of the site and the
// descriptions of the nodes. The SA knows the nodes. If no SA answers, the fabric is swept. What is read is kept for the next name, and
// for the command. If the command reads a stored fabric, its nodes are meant, and nothing is asked.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/rpc.hpp"
#include "path/parse.hpp"
#include "sa/nodes.hpp"
#include "subnet/discovery.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// A port of a node by which the node may be meant.
struct Session::NamedPort {
  Guid node;
  unsigned number{};
  std::string description;
  path::Path path;  ///< its LID, or where it has none a directed route
};

namespace {

/// Whether a word that is no address may be a name: numbers, routes and path specs that are wrong are not looked for.
bool may_be_name(std::string_view word) {
  if (word.starts_with("IBPath(") || word.starts_with("IBDRPath(")) return false;
  if (word.starts_with("0x") || word.starts_with("0X")) return false;
  return std::ranges::any_of(word, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
}

/// How a word is found in the names of nodes. A better way goes before all others.
enum class NameMatch : std::uint8_t {
  whole,  ///< it is the name
  word,   ///< it is a word, or several, of the name: leaf1 in "MF0;leaf1:SB7800/U1"
  piece,  ///< it is a piece of a word: leaf1 in leaf10, and in leaf1-2
  none,
};

bool continues_word(unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80 || c == '-' || c == '_' || c == '.'; }

NameMatch match_name(std::string_view name, std::string_view word) {
  if (name == word) return NameMatch::whole;
  NameMatch best = NameMatch::none;
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    best = NameMatch::piece;
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !continues_word(static_cast<unsigned char>(name[at - 1]));
    const bool ends = end == name.size() || !continues_word(static_cast<unsigned char>(name[end]));
    if (begins && ends) return NameMatch::word;
  }
  return best;
}

}  // namespace

path::Path Session::parse_target(std::string_view text) {
  if (options_.combined) return parse_combined(text);
  try {
    return parse_as(text, options_.address);
  } catch (const UsageError& error) {
    if (options_.address != path::Form::any || !may_be_name(text)) throw;
    return loop_.run(path_of_name(std::string(text), error.message()));
  }
}

async::Task<path::Path> Session::path_of_name(std::string word, std::string complaint) {
  std::vector<NamedPort> ports;
  if (read_stored_) {
    subnet::Subnet stored;
    read_stored_(stored);
    ports = ports_in(stored);
  } else {
    parse_sa_path();
    ports = co_await named_ports();
  }
  const subnet::NodeNameMap& names = node_name_map();
  const auto name_of_port = [&names](const NamedPort& port) { return std::string(names.find(port.node).value_or(port.description)); };
  const auto match = [&](const NamedPort& port) {
    return std::min(match_name(port.description, word), match_name(name_of_port(port), word));
  };
  NameMatch best = NameMatch::none;
  for (const NamedPort& port : ports) best = std::min(best, match(port));
  std::erase_if(ports, [&](const NamedPort& port) { return best == NameMatch::none || match(port) != best; });
  // One port of each node: the first.
  std::ranges::sort(ports, {}, [&](const NamedPort& port) { return std::tuple(name_of_port(port), port.node, port.number); });
  const auto rest = std::ranges::unique(ports, {}, &NamedPort::node);
  ports.erase(rest.begin(), rest.end());
  if (ports.empty()) throw UsageError(complaint + (read_stored_ ? ", and no stored node is called so" : ", and no node is called so"));
  if (ports.size() > 1) {
    constexpr std::size_t most = 8;
    std::string list;
    for (std::size_t i = 0; i < std::min(ports.size(), most); ++i)
      list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", quoted(name_of_port(ports[i])), to_text(ports[i].node));
    if (ports.size() > most) list += fmt::format(" and {} more", ports.size() - most);
    throw UsageError(fmt::format("several nodes {}: {}", best == NameMatch::whole ? "are called so" : "have this in their names", list));
  }
  debug(1, fmt::format("{} is {}, {}", quoted(word), quoted(name_of_port(ports[0])), to_text(ports[0].path)));
  if (best == NameMatch::piece) {
    refuse_sets(fmt::format("{} is only a piece of the name {} of {}: what changes something wants whole words of a name, or an address",
                            quoted(word), quoted(name_of_port(ports[0])), to_text(ports[0].node)));
  }
  path::Path path = ports[0].path;
  path.ib().meant = ports[0].node;
  path.ib().end_port = default_end_port();
  co_return path;
}

/// Every end port that has a node with a name.
async::Task<std::vector<Session::NamedPort>> Session::named_ports() {
  if (node_records_.empty() && !swept_) {
    co_await read_node_records();
    if (node_records_.empty()) co_await sweep_for_names();
  }
  std::vector<NamedPort> ports;
  if (swept_) ports = ports_in(swept_->subnet);
  for (const sa::NodeRecord& node : node_records_) {
    path::IbPath path;
    path.dlid = node.lid;
    ports.push_back(
        {node.node_info.node_guid, node.node_info.local_port_num, std::string(fixed_text(node.node_description.node_string)), path});
  }
  co_return ports;
}

async::Task<> Session::read_node_records() {
  co_await prepare_sa();
  const path::IbPath& sa = transactor().sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return;  // no SA is known
  try {
    const sa::Pattern all(sa::NodeRecord::info());
    sa::Nodes nodes = co_await sa::find_nodes(transactor(), all);
    if (nodes.torn) {
      log::warning("the SA's table of nodes came without its end: the fabric is swept for their names");
      co_return;
    }
    node_records_ = std::move(nodes.records);
  } catch (const mad::MadError& error) {
    debug(1, fmt::format("The SA does not tell the names of nodes: {}", error.message()));
  }
}

async::Task<> Session::sweep_for_names() {
  auto swept = std::make_unique<subnet::SweptSubnet>();
  subnet::Discovered discovered = co_await subnet::discover(lowest_transactor(), swept->subnet, here(), {});
  swept->failures = std::move(discovered.failures);
  count_plan(discovered.stats);
  swept_ = std::move(swept);
}

/// The port of each node with a description by which the node was found.
std::vector<Session::NamedPort> Session::ports_in(const subnet::Subnet& subnet) {
  std::vector<NamedPort> ports;
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (!node.has_description) continue;
    const subnet::PortIndex entry = subnet.end_port_of(node.first_port + node.entry_port);
    path::IbPath by_lid;
    by_lid.dlid = subnet.lid(entry);
    path::Path path = by_lid;
    if (!by_lid.dlid.is_unicast()) {
      path::IbDrPath route;
      route.hops = static_cast<std::uint8_t>(route_to(subnet, at, route.route));
      path = route;
    }
    ports.push_back({node.guid(), subnet.port(entry).number, std::string(node.description()), path});
  }
  return ports;
}

}  // namespace ib::tools
