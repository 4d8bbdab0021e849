// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/name_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "subnet/model/order.hpp"

namespace ib::subnet {
namespace {

bool continues_word(unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80 || c == '-' || c == '_' || c == '.'; }

/// `whole`, `word`, `piece` or `no_match`.
NameMatch match_in_words(std::string_view name, std::string_view word) {
  if (name == word) return NameMatch::whole;
  if (word.empty()) return NameMatch::no_match;
  NameMatch best = NameMatch::no_match;
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    best = NameMatch::piece;
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !continues_word(static_cast<unsigned char>(name[at - 1]));
    const bool ends = end == name.size() || !continues_word(static_cast<unsigned char>(name[end]));
    if (begins && ends) return NameMatch::word;
  }
  return best;
}

/// leaf01, MF0, SB7800 and U1 of "MF0;leaf01:SB7800/U1".
std::vector<std::string_view> name_words(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && continues_word(static_cast<unsigned char>(name[end]))) ++end;
    if (end > at) words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The first word of a name, which on hosts is the host name.
std::string_view first_word(std::string_view name) { return name.substr(0, name.find_first_of(" ;:/")); }

/// A host name without its domain. Empty for what is not a host name: it begins with a letter.
std::string_view host_part(std::string_view word) {
  const std::string_view host = word.substr(0, word.find('.'));
  return host.empty() || std::isalpha(static_cast<unsigned char>(host[0])) == 0 ? std::string_view() : host;
}

/// Whether `pattern` with * and ? fits all of `text`.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// Whether a word has a range in brackets: digits, and a dash or a comma.
bool has_range(std::string_view word) {
  const std::size_t open = word.find('[');
  return open != std::string_view::npos && open + 1 < word.size() && is_digit(word[open + 1]);
}

}  // namespace

NameWord::NameWord(std::string word) : word_(std::move(word)), lower_(to_lower(word_)), host_(host_part(lower_)) {
  const bool is_glob = word_.find_first_of("*?") != std::string::npos;
  if (!is_glob && !has_range(word_)) return;
  const std::set<std::string> all = has_range(word_) ? expand_hosts(lower_) : std::set<std::string>{lower_};
  patterns_.assign(all.begin(), all.end());
}

NameMatch NameWord::match(std::string_view name) const {
  const std::string printed = escaped(name);
  return printed == name ? match_form(name) : std::min(match_form(name), match_form(printed));
}

NameMatch NameWord::match(Guid node, std::string_view description, const NodeNameMap& names) const {
  const auto sites = names.find(node);
  return sites ? std::min(match(description), match(*sites)) : match(description);
}

NameMatch NameWord::match_form(std::string_view name) const {
  const NameMatch exact = match_in_words(name, word_);
  if (exact <= NameMatch::word) return exact;
  const std::string lower = to_lower(name);
  const NameMatch any_case = match_in_words(lower, lower_);
  if (any_case == NameMatch::whole) return NameMatch::whole_any_case;
  if (any_case == NameMatch::word) return NameMatch::word_any_case;
  const std::string_view first = first_word(lower);
  const bool has_domain = lower_.find('.') != std::string::npos || first.find('.') != std::string_view::npos;
  if (has_domain && !host_.empty() && host_part(first) == host_) return NameMatch::host;
  if (is_pattern()) return match_pattern(lower);
  return any_case;
}

NameMatch NameWord::match_pattern(std::string_view name) const {
  const std::vector<std::string_view> words = name_words(name);
  const std::string_view host = host_part(first_word(name));
  const auto fits_name = [&](const std::string& pattern) {
    const auto fits_word = [&pattern](std::string_view word) { return fits(pattern, word); };
    return fits(pattern, name) || fits(pattern, host) || std::ranges::any_of(words, fits_word);
  };
  return std::ranges::any_of(patterns_, fits_name) ? NameMatch::pattern : NameMatch::no_match;
}

BestMatches best_matches(std::size_t count, const std::function<NameMatch(std::size_t)>& match_of) {
  BestMatches best;
  for (std::size_t at = 0; at < count; ++at) {
    const NameMatch match = match_of(at);
    if (match == NameMatch::no_match || match > best.match) continue;
    if (match < best.match) best = {match, {}};
    best.places.push_back(at);
  }
  return best;
}

NodePort split_port(std::string_view word) {
  constexpr std::size_t most_digits = 3;
  const std::size_t at = word.find_last_of("/@");
  if (at == std::string_view::npos || at == 0 || word.find_first_of("%(") != std::string_view::npos) return {word, {}};
  const std::string_view port = word.substr(at + 1);
  if (port.empty() || port.size() > most_digits || !std::ranges::all_of(port, is_digit)) return {word, {}};
  return {word.substr(0, at), port};
}

std::string nearest_names(std::string_view word, const std::vector<std::string>& names) {
  std::map<std::string, std::string, std::less<>> by_word;  // the name of a word by which it may have been meant
  for (const std::string& name : names) {
    by_word.emplace(name, name);
    for (const std::string_view part : name_words(name)) by_word.emplace(part, name);
  }
  std::vector<std::string_view> words;
  for (const auto& [key, name] : by_word) words.push_back(key);
  std::vector<std::string> found;
  for (const std::string_view near : nearest_few(word, words)) {
    std::string name = in_quotes(by_word.find(near)->second);
    if (std::ranges::find(found, name) == found.end()) found.push_back(std::move(name));
  }
  if (found.empty()) return {};
  std::string text = ": did you mean " + found.front();
  for (std::size_t at = 1; at < found.size(); ++at) text += (at + 1 == found.size() ? " or " : ", ") + found[at];
  return text + "?";
}

path::Path address_of(const Subnet& subnet, PortIndex end_port) {
  path::IbPath by_lid;
  by_lid.dlid = subnet.lid(end_port);
  if (by_lid.dlid.is_unicast()) return by_lid;
  path::IbDrPath route;
  route.hops = static_cast<std::uint8_t>(route_to(subnet, subnet.port(end_port).node, route.route));
  return route;
}

std::vector<NamedEndPort> named_end_ports(const Subnet& subnet) {
  std::vector<NamedEndPort> ports;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const Node& node = subnet.node(at);
    if (!node.has_description) continue;
    const PortIndex entry = subnet.end_port_of(node.first_port + node.entry_port);
    for (const PortIndex end : end_ports(subnet, at)) {
      if (end != entry && !subnet.lid(end).is_unicast()) continue;
      ports.push_back({node.guid(), subnet.port(end).number, node.kind() == NodeKind::sw, end == entry, std::string(node.description()),
                       address_of(subnet, end)});
    }
  }
  return ports;
}

std::vector<NamedEndPort> named_end_ports(std::span<const sa::NodeRecord> nodes) {
  std::vector<NamedEndPort> ports;
  for (const sa::NodeRecord& node : nodes) {
    const smp::NodeInfo& info = node.node_info;
    path::IbPath path;
    path.dlid = node.lid;
    const bool is_switch = info.node_type == smp::NodeType::switch_;
    ports.push_back(
        {info.node_guid, info.local_port_num, is_switch, false, std::string(fixed_text(node.node_description.node_string)), path});
  }
  return ports;
}

std::string NameSearch::name_of(const NamedEndPort& port) const { return std::string(names_->find(port.node).value_or(port.description)); }

NameSearch::NameSearch(std::vector<NamedEndPort> ports, const NodeNameMap& names, bool is_stored, std::string word)
    : ports_(std::move(ports)), names_(&names), is_stored_(is_stored), word_(std::move(word)) {
  const std::string_view text = word_;
  if (search(text, std::nullopt)) return;
  if (text.size() > 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
    search(text.substr(1, text.size() - 2), std::nullopt);  // pasted as listings print it
  } else if (const NodePort parts = split_port(text); !parts.port.empty()) {
    const std::optional<std::uint64_t> number = parse_number(parts.port);
    if (!number || *number > path::last_port) throw UsageError(fmt::format("PORT: {} is not within 0…{}", parts.port, path::last_port));
    search(parts.node, static_cast<unsigned>(*number));
  }
}

/// Finds the best matches of `word`; of each node one port, `number` if that is given. A port of a switch has its node's address.
bool NameSearch::search(std::string_view word, std::optional<unsigned> number) {
  const NameWord wanted{std::string(word)};
  const BestMatches best = best_matches(ports_.size(), [&](std::size_t at) {
    const NamedEndPort& port = ports_[at];
    const bool is_other = number && !port.is_switch && port.number != *number;
    return is_other ? NameMatch::no_match : wanted.match(port.node, port.description, *names_);
  });
  match_ = best.match;
  found_.clear();
  for (const std::size_t at : best.places) found_.push_back(ports_[at]);
  std::ranges::sort(found_, {},
                    [&](const NamedEndPort& port) { return std::tuple(name_of(port), port.node, !port.is_entry, port.number); });
  const auto rest = std::ranges::unique(found_, {}, &NamedEndPort::node);
  found_.erase(rest.begin(), rest.end());
  return !found_.empty();
}

std::string NameSearch::unknown(std::string_view complaint) const {
  const NodePort parts = split_port(word_);
  NameSearch of_node = *this;
  if (!parts.port.empty() && of_node.search(parts.node, std::nullopt))
    return fmt::format("{} has no end port {} with an address", in_quotes(name_of(of_node.found_[0])), parts.port);
  const std::string_view stored = is_stored_ ? "stored " : "";
  if (NameWord(std::string(parts.node)).is_pattern()) return fmt::format("no {}node's name fits {}", stored, in_quotes(parts.node));
  std::vector<std::string> names;
  for (const NamedEndPort& port : ports_) names.push_back(name_of(port));
  const std::string nobody = fmt::format("no {}node is called {}{}", stored, in_quotes(word_), nearest_names(parts.node, names));
  return complaint.ends_with(path::not_an_address) ? nobody : fmt::format("{}, and {}", complaint, nobody);
}

std::string NameSearch::ambiguous() const {
  constexpr std::size_t most = 8;
  std::string list;
  for (std::size_t at = 0; at < std::min(found_.size(), most); ++at)
    add_part(list, fmt::format("{} ({})", in_quotes(name_of(found_[at])), to_text(found_[at].node)));
  if (found_.size() > most) list += fmt::format(" and {} more", found_.size() - most);
  const bool is_whole = match_ == NameMatch::whole || match_ == NameMatch::whole_any_case;
  if (match_ == NameMatch::pattern) return fmt::format("one node is wanted, and the pattern fits several: {}", list);
  return fmt::format("several nodes {}: {}: type {}", is_whole ? "are called so" : "have this in their names", list,
                     is_whole ? "a GUID" : "a whole name in quotes, or a GUID");
}

}  // namespace ib::subnet
