// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "sa/nodes.hpp"
#include "snapshot/stored_fabric.hpp"

namespace ib::tools {

/// A port of a node that a target may name, with the description of the node.
struct Targets::NamedPort {
  Guid node;
  unsigned number{};
  std::string description;
  path::Path path;  ///< by its LID, or by a directed route if it has no LID
};

namespace {

/// Whether a word that is not an address may be a name. Invalid numbers, routes and path specs are not looked up as names.
bool may_be_name(std::string_view word) {
  if (word.starts_with("IBPath(") || word.starts_with("IBDRPath(")) return false;
  if (word.starts_with("0x") || word.starts_with("0X")) return false;
  return std::ranges::any_of(word, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
}

/// The ways in which a word can match the name of a node, the best one first. Only the best matches count.
enum class NameMatch : std::uint8_t {
  whole,  ///< the word is the whole name
  word,   ///< it is one or several words of the name: leaf1 in "MF0;leaf1:SB7800/U1"
  piece,  ///< it is a part of a word: leaf1 in leaf10, and in leaf1-2
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

Targets::Targets(Stack& stack, Callbacks callbacks) : stack_(stack), host_(stack.host()), callbacks_(std::move(callbacks)) {}

Targets::~Targets() = default;

void Targets::bind(const OptionSet& set, const std::vector<std::string>& words) {
  read_stored_ = set.stored_fabric_reader();
  stack_.know_fabrics(set.known_fabrics());
  TargetReader reader;
  reader.address = [this](std::string_view word) { return address(word); };
  reader.look_up = [this](NamedTarget name) { pending_.push_back(std::move(name)); };
  set.bind(words, host_.options().combined, reader);
  parse_sa_path();
}

async::Task<> Targets::find_names() {
  while (!pending_.empty()) {
    const NamedTarget name = std::move(pending_.front());
    pending_.erase(pending_.begin());
    try {
      path::Path path = co_await this->path(name.word);
      name.found(std::move(path));
    } catch (const UsageError& error) {
      throw UsageError(name.argument + name.complaint.value_or(error.message()));
    }
  }
}

async::Task<path::Path> Targets::path(std::string word) {
  std::string complaint;
  if (const std::optional<path::Path> found = address(word, &complaint)) co_return *found;
  co_return co_await find(std::move(word), std::move(complaint));
}

/// The path of an address; nothing for a word that may be a name, and in `complaint` why it is no address.
std::optional<path::Path> Targets::address(std::string_view word, std::string* complaint) try {
  return parse(word);
} catch (const UsageError& error) {
  if (host_.options().address != path::Form::any || host_.options().combined || !may_be_name(word)) throw;
  if (complaint != nullptr) *complaint = error.message();
  return std::nullopt;
}

path::Path Targets::parse(std::string_view word) {
  return host_.options().combined ? parse_combined(word) : parse_as(word, host_.options().address);
}

/// The end port of targets that name none. Null on a host without an end port if the targets are those of a stored fabric.
const sys::EndPort* Targets::default_end_port() {
  const bool must_be = !read_stored_ || host_.options().device || host_.options().port;
  try {
    return &host_.end_port();
  } catch (const Error&) {
    if (must_be) throw;
    return nullptr;
  }
}

path::Path Targets::parse_as(std::string_view word, path::Form form) {
  path::ParseOptions how;
  how.devices = &host_.devices();
  how.default_end_port = default_end_port();
  const bool is_named = host_.is_end_port_named();
  how.require_end_port = is_named ? host_.chosen_end_port() : nullptr;
  how.require_device = !is_named && host_.options().device ? how.default_end_port->device : nullptr;
  how.form = form;
  path::Path path = path::parse_target(word, how);
  if (path.ib().end_port != nullptr) host_.name_end_port(*path.ib().end_port);
  return path;
}

/// "6 0,12": LID-routed to a switch and directed from there on (IBA 14.2.2).
path::Path Targets::parse_combined(std::string_view word) {
  const std::size_t blank = word.find(' ');
  const path::Path first = parse_as(word.substr(0, blank), path::Form::lid);
  const path::Path rest = parse_as(word.substr(blank + 1), path::Form::direct);
  path::IbDrPath path = *rest.directed();
  path.dlid = first.ib().dlid;
  path.slid = path.dr_slid = host_.end_port().lid;
  return path;
}

void Targets::parse_sa_path() {
  const std::optional<std::string>& text = host_.options().sa_path;
  if (!text || std::exchange(sa_path_parsed_, true)) return;
  try {
    path::Path path = parse_as(*text, path::Form::any);
    if (path.directed() != nullptr) throw UsageError("a directed route does not lead to a subnet administrator");
    stack_.set_sa_target(std::move(path));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("Invalid --sa-path {} - {}", in_quotes(path::without_secrets(*text)), e.message()));
  }
}

async::Task<path::Path> Targets::find(std::string word, std::string complaint) {
  std::vector<NamedPort> ports;
  if (read_stored_) {
    subnet::Subnet stored;
    read_stored_(stored);
    ports = ports_in(stored);
  } else {
    stack_.require_link();
    ports = co_await named_ports();
  }
  const subnet::NodeNameMap& names = callbacks_.names();
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
      list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", in_quotes(name_of_port(ports[i])), to_text(ports[i].node));
    if (ports.size() > most) list += fmt::format(" and {} more", ports.size() - most);
    throw UsageError(fmt::format("several nodes {}: {}", best == NameMatch::whole ? "are called so" : "have this in their names", list));
  }
  callbacks_.debug(fmt::format("{} is {}, {}", in_quotes(word), in_quotes(name_of_port(ports[0])), to_text(ports[0].path)));
  if (best == NameMatch::piece) {
    stack_.refuse_sets(
        fmt::format("{} is only a piece of the name {} of {}: what changes something wants whole words of a name, or an address",
                    in_quotes(word), in_quotes(name_of_port(ports[0])), to_text(ports[0].node)));
  }
  path::Path path = ports[0].path;
  path.ib().meant = ports[0].node;
  path.ib().end_port = default_end_port();
  co_return path;
}

/// Every end port that has a node with a name.
async::Task<std::vector<Targets::NamedPort>> Targets::named_ports() {
  if (node_records_.empty() && !swept_) {
    co_await read_node_records();
    if (node_records_.empty()) co_await sweep();
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

async::Task<> Targets::read_node_records() {
  co_await stack_.prepare_sa();
  const path::IbPath& sa = stack_.transactor().sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return;  // no SA is known
  try {
    const sa::Pattern all(sa::NodeRecord::info());
    sa::Nodes nodes = co_await sa::find_nodes(stack_.transactor(), all);
    if (nodes.torn) {
      callbacks_.warn("the SA's table of nodes came without its end: the fabric is swept for their names");
      co_return;
    }
    node_records_ = std::move(nodes.records);
  } catch (const mad::MadError& error) {
    callbacks_.debug(fmt::format("The SA does not report the names of nodes: {}", error.message()));
  }
}

async::Task<> Targets::sweep() {
  auto swept = std::make_unique<subnet::SweptSubnet>();
  if (host_.options().from && !host_.stored().format().empty()) {  // it need not hold what a sweep requests
    *swept = host_.stored().read_fabric(default_end_port());
    swept_ = std::move(swept);
    co_return;
  }
  subnet::Discovered discovered = co_await subnet::discover(stack_.lowest_transactor(), swept->subnet, stack_.here(), {});
  swept->failures = std::move(discovered.failures);
  callbacks_.swept(discovered.stats);
  swept_ = std::move(swept);
}

/// The port of each node with a description by which the node was found.
std::vector<Targets::NamedPort> Targets::ports_in(const subnet::Subnet& subnet) {
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
