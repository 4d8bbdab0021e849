// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How a word that a user types means the name of a node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools {

/// The ways in which a word can match a name, the best one first. Only the best matches count.
enum class NameMatch : std::uint8_t {
  whole,           ///< the word is the whole name
  word,            ///< it is one or several words of the name: leaf1 in "MF0;leaf1:SB7800/U1"
  whole_any_case,  ///< as `whole`, but for the case of letters
  word_any_case,   ///< as `word`, but for the case of letters
  host,            ///< the host names agree up to the first dot: compute01.example.org and "compute01 mlx5_0"
  pattern,         ///< it is a pattern that fits: compute[01-16], luna-*
  piece,           ///< it is a part of a word: leaf1 in leaf10, and in leaf1-2
  none,
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

 private:
  NameMatch match_form(std::string_view name) const;
  NameMatch match_pattern(std::string_view name) const;

  std::string word_, lower_, host_;
  std::vector<std::string> patterns_;  ///< in lower case, without ranges
};

/// NODE/PORT or NODE@PORT: the node and the port. The port is empty for a word of another form.
struct NodePort {
  std::string_view node, port;
};
NodePort split_port(std::string_view word);

/// ": did you mean 'compute01 mlx5_0' or 'compute10 mlx5_0'?", with up to three of `names` of which a word, or the whole, is near; empty if
/// none is.
std::string nearest_names(std::string_view word, const std::vector<std::string>& names);

}  // namespace ib::tools
