// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How a word that a user types means a node by its name: the description, or the site's name for it. Sends no requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba-gen/sa.hpp"
#include "path/path.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"

namespace ib::subnet {

/// The ways in which a word can match a name, the best one first. Only the best matches count.
enum class NameMatch : std::uint8_t {
  whole,           ///< the word is the whole name
  word,            ///< it is one or several words of the name: leaf1 in "MF0;leaf1:SB7800/U1"
  whole_any_case,  ///< as `whole`, but for the case of letters
  word_any_case,   ///< as `word`, but for the case of letters
  host,            ///< the host names agree up to the first dot: compute01.example.org and "compute01 mlx5_0"
  pattern,         ///< it is a pattern that fits: compute[01-16], luna-*
  piece,           ///< it is a part of a word: leaf1 in leaf10, and in leaf1-2
  no_match,
};

/// Whether a match may choose what is changed: the word consists of whole words of the name.
constexpr bool may_choose_sets(NameMatch match) { return match <= NameMatch::word_any_case; }

/// A word that is compared with names. The name of a node also matches in the form in which ibtool prints it (escaped()).
class NameWord {
 public:
  /// Throws UsageError for a pattern that is not one: a bracket that is not closed, a range that goes down.
  explicit NameWord(std::string word);
  /// Whether the word has *, ? or a range in brackets, and so may fit several names.
  bool is_pattern() const { return !patterns_.empty(); }
  NameMatch match(std::string_view name) const;
  /// The better match of the description of a node and of its name in `names`.
  NameMatch match(Guid node, std::string_view description, const NodeNameMap& names) const;

 private:
  NameMatch match_form(std::string_view name) const;
  NameMatch match_pattern(std::string_view name) const;

  std::string word_, lower_, host_;
  std::vector<std::string> patterns_;  ///< in lower case, without ranges
};

/// The places in a list, from 0, of those that match best. Empty, and NameMatch::no_match, if none matches.
struct BestMatches {
  NameMatch match = NameMatch::no_match;
  std::vector<std::size_t> places;
};
/// The best of the matches `match_of(0)` … `match_of(count - 1)`.
BestMatches best_matches(std::size_t count, const std::function<NameMatch(std::size_t)>& match_of);

/// NODE/PORT or NODE@PORT: the node and the port. The port is empty for a word of another form.
struct NodePort {
  std::string_view node, port;
};
NodePort split_port(std::string_view word);

/// ": did you mean 'compute01 mlx5_0' or 'compute10 mlx5_0'?", with up to three of `names` that are near as a whole or by a word; or empty.
std::string nearest_names(std::string_view word, const std::vector<std::string>& names);

/// An end port of a node that a word may name, with the description of the node.
struct NamedEndPort {
  Guid node;
  unsigned number{};
  bool is_switch{}, is_entry{};  ///< is_entry: the node was found by this port
  std::string description;
  path::Path path;  ///< by its LID, or by a directed route if it has no LID
};

/// The path to an end port by its LID, else to its node by a directed route from Subnet::start. Only the address is set.
path::Path address_of(const Subnet& subnet, PortIndex end_port);
/// The end ports of nodes with a description: the one by which the node was found, and others that have a LID.
std::vector<NamedEndPort> named_end_ports(const Subnet& subnet);
std::vector<NamedEndPort> named_end_ports(std::span<const sa::NodeRecord> nodes);

/// What a word means among the names of nodes.
class NameSearch {
 public:
  /// Searches `ports`, of a stored fabric if `is_stored`. `names` must outlive this object. Throws UsageError for a bad pattern or port.
  NameSearch(std::vector<NamedEndPort> ports, const NodeNameMap& names, bool is_stored, std::string word);

  /// The nodes that the word means, by one port each, sorted by name; if there are none, the port of NODE/PORT.
  const std::vector<NamedEndPort>& found() const { return found_; }
  /// How they match.
  NameMatch match() const { return match_; }
  /// The site's name of the node, else its description.
  std::string name_of(const NamedEndPort& port) const;
  /// Why the word means no node. `complaint` says why it is not an address.
  std::string unknown(std::string_view complaint) const;
  /// Why a word that means several nodes does not do: their names, and what to type.
  std::string ambiguous() const;

 private:
  bool search(std::string_view word, std::optional<unsigned> number);

  std::vector<NamedEndPort> ports_, found_;
  const NodeNameMap* names_;
  bool is_stored_;
  std::string word_;
  NameMatch match_ = NameMatch::no_match;
};

}  // namespace ib::subnet
