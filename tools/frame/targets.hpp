// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Turns the words of targets into paths, in ibtool's dialect, for the command line and for words in files. An address is parsed at once,
// and opens nothing. A word that is not an address may be a node's name (subnet/model/name_search.hpp), or NODE/PORT. It is looked up
// inside a task: in the stored fabric of the command, else in the table of the SA, and if it is not there in a sweep. A GUID for which the
// SA gives no path is looked up in a sweep, too. The table or sweep of one name serves the next names and the command.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "path/parse.hpp"
#include "sa/records.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/target.hpp"

namespace ib::subnet {
class NameSearch;
}

namespace ib::tools {

class Host;
class OptionSet;
class Stack;
struct NamedTarget;

class Targets {
 public:
  /// `stack` has the manners of a command.
  explicit Targets(Stack& stack);
  ~Targets();

  /// Hands `words` to the operands of `set`. Targets choose the end port, in their order. Opens nothing. Throws UsageError.
  void bind(const OptionSet& set, const std::vector<std::string>& words);
  /// Looks up the names that bind() met. Throws UsageError for a name that no node has, or several.
  async::Task<> find_names();
  /// The path that a word means. Throws UsageError.
  async::Task<path::Path> path(std::string word);

  /// What a word means.
  struct Meaning : path::ParsedTarget {
    bool is_exact{};  ///< it is an address, or whole words of a name
  };
  /// If `may_sweep` is false, only the stored fabric or the SA is searched.
  async::Task<Meaning> meaning(std::string word, bool may_sweep = true);

  /// Whether the command line has a pattern of names where the command takes several nodes (OptionSet::target_each()).
  bool has_pattern() const;
  /// The nodes that the pattern fits, sorted by name. No Set is sent from then on. Throws UsageError if there are none.
  async::Task<std::vector<NamedPath>> nodes_of_pattern();
  /// Makes a node the target in the place of the pattern.
  void choose(const NamedPath& node) const;

  /// The records in the SA's table of nodes that `word` matches best, as a target does, in the order of the table.
  async::Task<mad::Result<sa::Nodes>> nodes_called(std::string word);
  /// The SA's table of nodes. The error of an empty table is the SA's; see sa::is_no_records().
  async::Task<mad::Result<sa::Nodes>> node_table();

  /// The table of the SA, if a name was looked up in it; else empty.
  const std::vector<sa::NodeRecord>& node_records() const { return node_records_; }
  /// The whole fabric as seen from this host, if it was swept to look up a name; else null.
  const std::unique_ptr<subnet::SweptSubnet>& swept() const { return swept_; }
  /// Moves the swept fabric out; swept() is null afterwards.
  std::unique_ptr<subnet::SweptSubnet> take_swept() { return std::move(swept_); }

 private:
  void check_operation(const OptionSet& set, const std::vector<std::string>& words) const;
  void read(NamedTarget target);
  bool is_plain() const;
  bool may_name_node(std::string_view word) const;
  path::ParsedTarget address(std::string_view word);
  path::ParsedTarget parse_as(std::string_view word, path::Form form);
  path::ParsedTarget parse_combined(std::string_view word);
  const sys::EndPort* default_end_port();
  void parse_sa_path();
  async::Task<subnet::NameSearch> search_for(std::string word, bool may_sweep);
  std::string unknown(const subnet::NameSearch& search, std::string_view complaint) const;
  async::Task<Meaning> find(std::string word, std::string complaint, bool may_sweep);
  async::Task<path::Path> find_in_sweep(path::Path target, std::string why);
  path::Path path_to(path::Path path, Guid node);
  async::Task<> read_node_records();
  async::Task<> sweep();

  Stack& stack_;
  Host& host_;
  std::vector<NamedTarget> pending_;        ///< names that bind() met
  std::vector<NamedTarget> patterns_;       ///< patterns of names that bind() met where several nodes are taken
  std::optional<std::string> stored_file_;  ///< the stored fabric whose nodes are meant; absent: nodes of the live one
  std::vector<sa::NodeRecord> node_records_;
  std::unique_ptr<subnet::SweptSubnet> swept_;
  bool sa_path_parsed_{};
};

}  // namespace ib::tools
