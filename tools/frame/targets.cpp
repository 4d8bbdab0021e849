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
#include "tools/frame/name_match.hpp"

namespace ib::tools {

namespace {

/// An end port of a node that a target may name, with the description of the node.
struct NamedEndPort {
  Guid node;
  unsigned number{};
  bool is_switch{}, is_entry{};  ///< the node was found by this port
  std::string description;
  path::Path path;  ///< by its LID, or by a directed route if it has no LID
};

/// The nodes that a word means, by one port each.
struct Named {
  std::vector<NamedEndPort> ports;
  NameMatch match = NameMatch::none;
};

constexpr unsigned last_port = 254;  // IBA 14.2.5.4: 255 names no port

/// Whether a word that is not an address may be a name. Invalid numbers, routes and path specs are not looked up as names.
bool may_be_name(std::string_view word) {
  if (word.starts_with("IBPath(") || word.starts_with("IBDRPath(")) return false;
  if (word.starts_with("0x") || word.starts_with("0X")) return false;
  return std::ranges::any_of(word, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
}

/// How a word that is no whole words of a name means it, for the refusal of a Set.
std::string_view inexact(NameMatch match) {
  switch (match) {
    case NameMatch::host:
      return "another form of the host";
    case NameMatch::pattern:
      return "a pattern that fits";
    default:
      return "only a piece of";
  }
}

/// The search for words among the names of end ports.
class NameSearch {
 public:
  /// `names` must outlive this object. `is_stored`: the ports are those of a stored fabric.
  NameSearch(std::vector<NamedEndPort> ports, const subnet::NodeNameMap& names, bool is_stored)
      : ports_(std::move(ports)), names_(&names), is_stored_(is_stored) {}

  std::string name_of(const NamedEndPort& port) const { return std::string(names_->find(port.node).value_or(port.description)); }

  /// The best matches of `word` among the ports, sorted by name; of each node one port, which is `number` if that is given. A port of a
  /// switch has the address of its node.
  Named matches(std::string_view word, std::optional<unsigned> number) const {
    const NameWord wanted{std::string(word)};
    Named named;
    for (const NamedEndPort& port : ports_) {
      if (number && !port.is_switch && port.number != *number) continue;
      const NameMatch match = std::min(wanted.match(port.description), wanted.match(name_of(port)));
      if (match == NameMatch::none || match > named.match) continue;
      if (match < named.match) named.ports.clear();
      named.match = match;
      named.ports.push_back(port);
    }
    std::ranges::sort(named.ports, {},
                      [&](const NamedEndPort& port) { return std::tuple(name_of(port), port.node, !port.is_entry, port.number); });
    const auto rest = std::ranges::unique(named.ports, {}, &NamedEndPort::node);
    named.ports.erase(rest.begin(), rest.end());
    return named;
  }

  /// Those that `word` means, or if none is called so and it is NODE/PORT, that port of the node.
  Named meant(std::string_view word) const {
    Named named = matches(word, std::nullopt);
    const NodePort parts = split_port(word);
    if (!named.ports.empty() || parts.port.empty()) return named;
    return matches(parts.node, parse_within<unsigned>(parts.port, "PORT", {0, last_port}));
  }

  /// The error for a word that means no node.
  UsageError unknown(std::string_view word, std::string_view complaint) const {
    const NodePort parts = split_port(word);
    if (!parts.port.empty()) {
      const Named node = matches(parts.node, std::nullopt);
      if (!node.ports.empty())
        return UsageError(fmt::format("{} has no end port {} with an address", in_quotes(name_of(node.ports[0])), parts.port));
    }
    std::vector<std::string> names;
    for (const NamedEndPort& port : ports_) names.push_back(name_of(port));
    return UsageError(
        fmt::format("{}, and no {}node is called so{}", complaint, is_stored_ ? "stored " : "", nearest_names(parts.node, names)));
  }

  /// The error for a word that means several nodes: their names, and what to type.
  UsageError ambiguous(const Named& named) const {
    constexpr std::size_t most = 8;
    const std::vector<NamedEndPort>& ports = named.ports;
    std::string list;
    for (std::size_t i = 0; i < std::min(ports.size(), most); ++i)
      list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", in_quotes(name_of(ports[i])), to_text(ports[i].node));
    if (ports.size() > most) list += fmt::format(" and {} more", ports.size() - most);
    const bool is_whole = named.match == NameMatch::whole || named.match == NameMatch::whole_any_case;
    if (named.match == NameMatch::pattern) return UsageError(fmt::format("one node is wanted, and the pattern fits several: {}", list));
    return UsageError(fmt::format("several nodes {}: {}: type {}", is_whole ? "are called so" : "have this in their names", list,
                                  is_whole ? "a GUID" : "a whole name in quotes, or a GUID"));
  }

 private:
  std::vector<NamedEndPort> ports_;
  const subnet::NodeNameMap* names_;
  bool is_stored_;
};

}  // namespace

struct Targets::NamedPort : NamedEndPort {};

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

/// The path of an address, or of the address in NODE/PORT; nothing for a word that may be a name, and in `complaint` why it is no address.
std::optional<path::Path> Targets::address(std::string_view word, std::string* complaint) try {
  return parse(word);
} catch (const UsageError& error) {
  const NodePort parts = split_port(word);
  const bool is_plain = host_.options().address == path::Form::any && !host_.options().combined;
  if (is_plain && !parts.port.empty() && !may_be_name(parts.node)) return parse(parts.node);
  if (!is_plain || !may_be_name(word)) throw;
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
  const bool is_stored = static_cast<bool>(read_stored_);
  NameSearch search({ports.begin(), ports.end()}, names, is_stored);
  Named named = search.meant(word);
  if (named.ports.empty() && !is_stored && !swept_) {  // the SA lists what this host may reach, which is less than there is
    co_await sweep();
    ports = ports_in(swept_->subnet);
    search = NameSearch({ports.begin(), ports.end()}, names, is_stored);
    named = search.meant(word);
  }
  if (named.ports.empty()) throw search.unknown(word, complaint);
  if (named.ports.size() > 1) throw search.ambiguous(named);
  const NamedEndPort& found = named.ports.front();
  const std::string name = search.name_of(found);
  callbacks_.debug(fmt::format("{} is {}, {}", in_quotes(word), in_quotes(name), to_text(found.path)));
  if (!may_choose_sets(named.match)) {
    stack_.refuse_sets(fmt::format("{} is {} the name {} of {}: what changes something wants whole words of a name, or an address",
                                   in_quotes(word), inexact(named.match), in_quotes(name), to_text(found.node)));
  }
  path::Path path = found.path;
  path.ib().meant = found.node;
  path.ib().end_port = default_end_port();
  co_return path;
}

/// Every end port that has a node with a name.
async::Task<std::vector<Targets::NamedPort>> Targets::named_ports() {
  if (node_records_.empty() && !swept_) {
    co_await read_node_records();
    if (node_records_.empty()) co_await sweep();
  }
  if (swept_) co_return ports_in(swept_->subnet);
  std::vector<NamedPort> ports;
  for (const sa::NodeRecord& node : node_records_) {
    const smp::NodeInfo& info = node.node_info;
    path::IbPath path;
    path.dlid = node.lid;
    const bool is_switch = info.node_type == smp::NodeType::switch_;
    ports.push_back(
        {{info.node_guid, info.local_port_num, is_switch, false, std::string(fixed_text(node.node_description.node_string)), path}});
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

/// The end ports of nodes with a description: the one by which the node was found, and others that have a LID.
std::vector<Targets::NamedPort> Targets::ports_in(const subnet::Subnet& subnet) {
  std::vector<NamedPort> ports;
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (!node.has_description) continue;
    const bool is_switch = node.kind() == subnet::NodeKind::sw;
    const subnet::PortIndex entry = subnet.end_port_of(node.first_port + node.entry_port);
    for (unsigned number = is_switch ? 0 : 1; number < (is_switch ? 1U : node.slots); ++number) {
      const subnet::PortIndex end = is_switch ? entry : subnet.port_of(at, number);
      path::IbPath by_lid;
      by_lid.dlid = subnet.lid(end);
      if (end != entry && !by_lid.dlid.is_unicast()) continue;
      path::Path path = by_lid;
      if (!by_lid.dlid.is_unicast()) {
        path::IbDrPath route;
        route.hops = static_cast<std::uint8_t>(route_to(subnet, at, route.route));
        path = route;
      }
      ports.push_back({{node.guid(), subnet.port(end).number, is_switch, end == entry, std::string(node.description()), path}});
    }
  }
  return ports;
}

}  // namespace ib::tools
