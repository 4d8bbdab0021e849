// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/targets.hpp"

#include <fmt/format.h>

#include <cctype>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/name_search.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

namespace {

/// Whether a word that is not an address may be a name. Invalid numbers, routes and path specs are not looked up as names.
bool may_be_name(std::string_view word) {
  if (const std::size_t scope = word.find('%'); scope != std::string_view::npos && parse_gid(word.substr(0, scope))) return false;
  if (path::is_spec(word)) return false;
  if (word.starts_with("0x") || word.starts_with("0X")) return false;
  return std::ranges::any_of(word, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
}

/// What to type where the word of a target is neither an address nor a name, and may have two nodes in it. An address may have several
/// colons.
std::string two_nodes_hint(const NamedTarget& target) {
  const std::size_t colon = target.word.find(':');
  const bool are_two = target.is_alone && colon != 0 && colon + 1 < target.word.size() && colon == target.word.rfind(':');
  if (!are_two || colon == std::string::npos) return {};
  return fmt::format(" (two nodes are two words: {} {})", escaped(target.word.substr(0, colon)), escaped(target.word.substr(colon + 1)));
}

/// How a word that is only a part of a name means it.
std::string_view inexact(subnet::NameMatch match) {
  if (match == subnet::NameMatch::host) return "a host name that fits";
  return match == subnet::NameMatch::pattern ? "a pattern that fits" : "only a piece of";
}

}  // namespace

Targets::Targets(Stack& stack) : stack_(stack), host_(stack.host()) {
  stack_.set_finder([this](path::Path target, std::string why) { return find_in_sweep(std::move(target), std::move(why)); });
}

Targets::~Targets() = default;

void Targets::bind(const OptionSet& set, const std::vector<std::string>& words) {
  stored_file_ = set.stored_fabric();
  stack_.know_fabrics(set.known_fabrics());
  check_operation(set, words);
  // A file that cannot be read is not a mistake in a target.
  if (host_.options().from && !words.empty() && std::ranges::any_of(set.operands(), &Operand::is_target)) host_.devices();
  set.bind(words, host_.options().combined, [this](NamedTarget target) { read(std::move(target)); });
  parse_sa_path();
}

/// Throws UsageError, with the right order, for a target before an operation.
void Targets::check_operation(const OptionSet& set, const std::vector<std::string>& words) const {
  if (set.operands().empty() || !set.operands().front().find_operation || words.size() < 2) return;
  const auto is_one = [&find = set.operands().front().find_operation](const std::string& word) {
    try {
      find(word);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  };
  if (is_one(words[0]) || !is_one(words[1])) return;
  throw UsageError(fmt::format("Operation {} is not known: the operation stands first, {} {} {}", in_quotes(words[0]),
                               host_.options().program, escaped(words[1]), escaped(words[0])));
}

/// Hands the path of an address on. Keeps what may be a name, or a pattern of names.
void Targets::read(NamedTarget target) {
  path::ParsedTarget address = this->address(target.word);
  if (address.path) return target.found({std::move(*address.path), target.word});
  if (!target.complaint) target.complaint = std::move(address.why);
  if (!may_name_node(target.word)) throw UsageError(*target.complaint + two_nodes_hint(target));
  const subnet::NameWord word(std::string{subnet::split_port(target.word).node});  // throws for a pattern that is not one
  const bool is_pattern = target.takes_several && word.is_pattern();
  if (is_pattern && has_pattern()) throw UsageError("one pattern of names is taken, and there is another before it");
  (is_pattern ? patterns_ : pending_).push_back(std::move(target));
}

async::Task<> Targets::find_names() {
  const std::vector<NamedTarget> names = std::exchange(pending_, {});
  for (const NamedTarget& name : names) {
    std::string complaint = name.complaint.value_or("");
    Meaning meaning = co_await find(name.word, std::move(complaint), true);
    if (!meaning.path) throw UsageError(name.argument + meaning.why + two_nodes_hint(name));
    name.found({std::move(*meaning.path), name.word});
  }
}

async::Task<std::vector<NamedPath>> Targets::nodes_of_pattern() {
  const NamedTarget& pattern = patterns_.front();
  const subnet::NameSearch search = co_await search_for(pattern.word, true);
  if (search.found().empty()) throw UsageError(pattern.argument + unknown(search, pattern.complaint.value_or("")));
  stack_.sets().refusal = fmt::format("{} is a pattern: changes need whole words of a name, or an address", in_quotes(pattern.word));
  std::vector<NamedPath> nodes;
  for (const subnet::NamedEndPort& port : search.found()) nodes.push_back({path_to(port.path, port.node), search.name_of(port)});
  co_return nodes;
}

bool Targets::has_pattern() const { return !patterns_.empty(); }

void Targets::choose(const NamedPath& node) const { patterns_.front().found(node); }

async::Task<path::Path> Targets::path(std::string word) {
  Meaning meaning = co_await this->meaning(std::move(word));
  if (!meaning.path) throw UsageError(std::move(meaning.why));
  co_return std::move(*meaning.path);
}

async::Task<Targets::Meaning> Targets::meaning(std::string word, bool may_sweep) {
  Meaning address{this->address(word), false};
  address.is_exact = address.path.has_value();
  if (address.path || !may_name_node(word)) co_return address;
  co_return co_await find(std::move(word), std::move(address.why), may_sweep);
}

bool Targets::is_plain() const { return host_.options().address == path::Form::any && !host_.options().combined; }

/// Whether a word that is not an address may be a name: not with -D, -L, -G and -c.
bool Targets::may_name_node(std::string_view word) const { return is_plain() && may_be_name(word); }

/// The path of an address, or of the address in NODE/PORT; else why the word is not an address.
path::ParsedTarget Targets::address(std::string_view word) {
  path::ParsedTarget parsed = host_.options().combined ? parse_combined(word) : parse_as(word, host_.options().address);
  const subnet::NodePort parts = subnet::split_port(word);
  if (parsed.path || !is_plain() || parts.port.empty() || may_be_name(parts.node)) return parsed;
  return parse_as(parts.node, path::Form::any);
}

/// The end port of targets that name none. Null on a host without an end port if the targets are nodes of a stored fabric.
const sys::EndPort* Targets::default_end_port() {
  const bool must_be = !stored_file_ || host_.options().device || host_.options().port;
  try {
    return &host_.end_port();
  } catch (const Error&) {
    if (must_be) throw;
    return nullptr;
  }
}

path::ParsedTarget Targets::parse_as(std::string_view word, path::Form form) {
  path::ParseOptions how;
  how.devices = &host_.devices();
  how.default_end_port = default_end_port();
  how.require_end_port = host_.named_end_port();
  how.require_device = how.require_end_port == nullptr && host_.options().device ? how.default_end_port->device : nullptr;
  how.form = form;
  path::ParsedTarget parsed = path::parse_target(word, how);
  if (parsed.path && parsed.path->ib().end_port != nullptr) host_.name_end_port(*parsed.path->ib().end_port);
  return parsed;
}

/// "6 0,12": LID-routed to a switch and directed from there on (IBA 14.2.2).
path::ParsedTarget Targets::parse_combined(std::string_view word) {
  const std::size_t blank = word.find(' ');
  const path::ParsedTarget first = parse_as(word.substr(0, blank), path::Form::lid);
  if (!first.path) return first;
  path::ParsedTarget rest = parse_as(word.substr(blank + 1), path::Form::direct);
  if (!rest.path) return rest;
  path::IbDrPath path = *rest.path->directed();
  path.dlid = first.path->ib().dlid;
  path.slid = path.dr_slid = host_.end_port().lid;
  rest.path = path;
  return rest;
}

void Targets::parse_sa_path() {
  const std::optional<std::string>& text = host_.options().sa_path;
  if (!text || std::exchange(sa_path_parsed_, true)) return;
  try {
    path::ParsedTarget sa = parse_as(*text, path::Form::any);
    if (!sa.path) throw UsageError(std::move(sa.why));
    if (sa.path->directed() != nullptr) throw UsageError("a directed route does not lead to a subnet administrator");
    stack_.set_sa_target(std::move(*sa.path));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("Invalid --sa-path {} - {}", in_quotes(path::without_secrets(*text)), e.message()));
  }
}

/// What `word` means among the names: in the stored fabric of the command, else in the SA's table, and if that lacks it in a sweep.
async::Task<subnet::NameSearch> Targets::search_for(std::string word, bool may_sweep) {
  const subnet::NodeNameMap& names = stack_.manners().node_name_map();
  if (stored_file_) {
    const subnet::SweptSubnet stored = snapshot::open_fabric(*stored_file_)->take_fabric(nullptr);
    co_return subnet::NameSearch(subnet::named_end_ports(stored.subnet), names, true, std::move(word));
  }
  stack_.require_link();
  if (node_records_.empty() && !swept_) co_await read_node_records();
  if (node_records_.empty() && !swept_) co_await sweep();
  const auto search = [&] {
    return subnet::NameSearch(swept_ ? subnet::named_end_ports(swept_->subnet) : subnet::named_end_ports(node_records_), names, false,
                              word);
  };
  subnet::NameSearch by_sa = search();
  if (!by_sa.found().empty() || swept_ || !may_sweep) co_return by_sa;
  co_await sweep();  // the SA lists what this host may reach, which is less than there is
  co_return search();
}

/// `path`, which is meant for `node`.
path::Path Targets::path_to(path::Path path, Guid node) {
  path.ib().expected_node_guid = node;
  path.ib().end_port = default_end_port();
  return path;
}

/// Why a word means no node. `complaint` says why it is not an address.
std::string Targets::unknown(const subnet::NameSearch& search, std::string_view complaint) const {
  const bool is_partial = !stored_file_ && swept_ && !swept_->failures.empty();
  return search.unknown(complaint) + (is_partial ? " (parts of the fabric did not answer: ibtool health)" : "");
}

/// The only node that `word` means, which is not an address for the reason `complaint`.
async::Task<Targets::Meaning> Targets::find(std::string word, std::string complaint, bool may_sweep) {
  const subnet::NameSearch search = co_await search_for(word, may_sweep);
  Meaning meaning;
  if (search.found().empty()) meaning.why = unknown(search, complaint);
  if (search.found().size() > 1) meaning.why = search.ambiguous();
  if (!meaning.why.empty()) co_return meaning;
  const subnet::NamedEndPort& found = search.found().front();
  const std::string name = search.name_of(found);
  host_.debug(fmt::format("{} is {}, {}", in_quotes(word), in_quotes(name), to_text(found.path)));
  meaning.is_exact = subnet::may_choose_sets(search.match());
  if (!meaning.is_exact) {
    stack_.sets().refusal = fmt::format("{} is {} the name {} of {}: changes need whole words of a name, or an address", in_quotes(word),
                                        inexact(search.match()), in_quotes(name), to_text(found.node));
  }
  meaning.path = path_to(found.path, found.node);
  co_return meaning;
}

/// The path to the port, node or system of a GID that the SA does not know for the reason `why`.
async::Task<path::Path> Targets::find_in_sweep(path::Path target, std::string why) {
  if (!swept_) co_await sweep();
  const subnet::FoundPort found = subnet::find_port(*swept_, target);
  if (!found) throw Error(fmt::format("{} ({})", found.missing.substr(0, found.missing.find_last_not_of('.') + 1), why));
  const subnet::Node& node = swept_->subnet.node(swept_->subnet.port(found.port).node);
  const path::Path path = path_to(subnet::address_of(swept_->subnet, found.port), node.guid());
  host_.debug(fmt::format("{} is {}, {}", to_text(target), in_quotes(node.description()), to_text(path)));
  co_return path;
}

async::Task<> Targets::read_node_records() {
  co_await stack_.prepare_sa();
  if (!stack_.transactor().knows_sa()) co_return;
  mad::Result<sa::Nodes> table = co_await node_table();
  if (!table) {
    host_.debug(fmt::format("The SA does not report the names of nodes: {}", table.error().message()));
  } else if (table->torn) {
    host_.log().warning("the SA's table of nodes came without its end: the fabric is swept for their names");
  } else {
    node_records_ = std::move(table->records);
  }
}

async::Task<mad::Result<sa::Nodes>> Targets::node_table() {
  const sa::Pattern all(sa::NodeRecord::info());
  mad::Transactor& transactor = stack_.transactor();
  const mad::Result<sa::Records> records = co_await sa::try_records(transactor, transactor.sa_path(), all);
  if (!records) co_return records.shared_error();
  sa::Nodes nodes;
  nodes.torn = records->torn;
  for (const Bytes record : records->bytes) nodes.records.push_back(wire::unpack_short<sa::NodeRecord>(record));
  co_return nodes;
}

async::Task<mad::Result<sa::Nodes>> Targets::nodes_called(std::string word) {
  const mad::Result<sa::Nodes> table = co_await node_table();
  if (!table && sa::is_no_records(table.error())) co_return sa::Nodes{};
  if (!table) co_return table.shared_error();
  const subnet::NameWord wanted(std::move(word));
  const subnet::NodeNameMap& names = stack_.manners().node_name_map();
  const subnet::BestMatches best = subnet::best_matches(table->records.size(), [&](std::size_t at) {
    const sa::NodeRecord& node = table->records[at];
    return wanted.match(node.node_info.node_guid, fixed_text(node.node_description.node_string), names);
  });
  sa::Nodes found;
  found.torn = table->torn;
  for (const std::size_t at : best.places) found.records.push_back(table->records[at]);
  co_return found;
}

async::Task<> Targets::sweep() {
  auto swept = std::make_unique<subnet::SweptSubnet>();
  if (host_.options().from && !host_.stored().format().empty()) {  // it need not hold what a sweep requests
    *swept = host_.stored().read_fabric(default_end_port());
  } else {
    subnet::Discovered discovered = co_await subnet::discover(stack_.lowest_transactor(), swept->subnet, stack_.here(), {});
    swept->failures = std::move(discovered.failures);
    stack_.count_plan(discovered.stats);
  }
  swept_ = std::move(swept);
}

}  // namespace ib::tools
