// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/name_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

std::string_view inexact(NameMatch match) {
  switch (match) {
    case NameMatch::host:
      return "a host name that fits";
    case NameMatch::pattern:
      return "a pattern that fits";
    default:
      return "only a piece of";
  }
}

bool is_whole_name(std::string_view word, std::string_view description, std::optional<std::string_view> sites) {
  return sites == word || description == word || printable(description) == word;
}

std::string NameSearch::name_of(const NamedEndPort& port) const { return std::string(names_->find(port.node).value_or(port.description)); }

/// The best matches of `word` among the ports, sorted by name; of each node one port, which is `number` if that is given. A port of a
/// switch has the address of its node.
Named NameSearch::matches(std::string_view word, std::optional<unsigned> number) const {
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

Named NameSearch::meant(std::string_view word) const {
  Named named = matches(word, std::nullopt);
  const NodePort parts = split_port(word);
  if (named.ports.empty() && word.size() > 2 && (word.front() == '\'' || word.front() == '"') && word.back() == word.front())
    return matches(word.substr(1, word.size() - 2), std::nullopt);  // pasted as listings print it
  if (!named.ports.empty() || parts.port.empty()) return named;
  return matches(parts.node, parse_within<unsigned>(parts.port, "PORT", {0, path::last_port}));
}

std::string NameSearch::unknown(std::string_view word, std::string_view complaint) const {
  const NodePort parts = split_port(word);
  if (!parts.port.empty()) {
    const Named node = matches(parts.node, std::nullopt);
    if (!node.ports.empty()) return fmt::format("{} has no end port {} with an address", in_quotes(name_of(node.ports[0])), parts.port);
  }
  const std::string_view stored = is_stored_ ? "stored " : "";
  if (NameWord(std::string(parts.node)).is_pattern()) return fmt::format("no {}node's name fits {}", stored, in_quotes(parts.node));
  std::vector<std::string> names;
  for (const NamedEndPort& port : ports_) names.push_back(name_of(port));
  const std::string nobody = fmt::format("no {}node is called {}{}", stored, in_quotes(word), nearest_names(parts.node, names));
  return complaint.ends_with(path::not_an_address) ? nobody : fmt::format("{}, and {}", complaint, nobody);
}

std::string NameSearch::ambiguous(const Named& named) const {
  constexpr std::size_t most = 8;
  const std::vector<NamedEndPort>& ports = named.ports;
  std::string list;
  for (std::size_t i = 0; i < std::min(ports.size(), most); ++i)
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", in_quotes(name_of(ports[i])), to_text(ports[i].node));
  if (ports.size() > most) list += fmt::format(" and {} more", ports.size() - most);
  const bool is_whole = named.match == NameMatch::whole || named.match == NameMatch::whole_any_case;
  if (named.match == NameMatch::pattern) return fmt::format("one node is wanted, and the pattern fits several: {}", list);
  return fmt::format("several nodes {}: {}: type {}", is_whole ? "are called so" : "have this in their names", list,
                     is_whole ? "a GUID" : "a whole name in quotes, or a GUID");
}

}  // namespace ib::tools
