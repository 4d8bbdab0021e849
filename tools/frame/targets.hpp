// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Turns the words of targets into paths, in ibtool's dialect, for the command line and for words in files. An address is parsed at once,
// and opens nothing. A word that is not an address may be a node's name (name_match.hpp), or NODE/PORT. It is looked up inside a task: in
// the stored fabric of the command, else in the table of the SA, and if it is not there in a sweep. The table or sweep of one name serves
// the next names and the command.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "subnet/discovery.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

class Targets {
 public:
  struct Callbacks {
    std::function<const subnet::NodeNameMap&()> names;              ///< the site's names for nodes
    std::function<void(const subnet::DiscoverStats& stats)> swept;  ///< a sweep was needed
    std::function<void(std::string_view line)> debug;               ///< how a name was resolved
    std::function<void(std::string_view line)> warn;
  };
  Targets(Stack& stack, Callbacks callbacks);
  ~Targets();

  /// Hands `words` to the operands of `set`. Targets choose the end port, in their order. Names of nodes are looked up by find_names().
  /// Opens nothing. Throws UsageError.
  void bind(const OptionSet& set, const std::vector<std::string>& words);
  /// Looks up the names that bind() met. Throws UsageError for a name that no node has, or several.
  async::Task<> find_names();
  /// The path that a word means. Throws UsageError.
  async::Task<path::Path> path(std::string word);

  /// The table of the SA, if a name was looked up in it; else empty.
  const std::vector<sa::NodeRecord>& node_records() const { return node_records_; }
  /// The whole fabric as seen from this host, if it was swept to look up a name; else null.
  const std::unique_ptr<subnet::SweptSubnet>& swept() const { return swept_; }
  /// Moves the swept fabric out; swept() is null afterwards.
  std::unique_ptr<subnet::SweptSubnet> take_swept() { return std::move(swept_); }

 private:
  struct NamedPort;
  std::optional<path::Path> address(std::string_view word, std::string* complaint = nullptr);
  path::Path parse(std::string_view word);
  path::Path parse_as(std::string_view word, path::Form form);
  path::Path parse_combined(std::string_view word);
  const sys::EndPort* default_end_port();
  void parse_sa_path();
  async::Task<path::Path> find(std::string word, std::string complaint);
  async::Task<std::vector<NamedPort>> named_ports();
  async::Task<> read_node_records();
  async::Task<> sweep();
  static std::vector<NamedPort> ports_in(const subnet::Subnet& subnet);

  Stack& stack_;
  Host& host_;
  Callbacks callbacks_;
  std::vector<NamedTarget> pending_;                  ///< names that bind() met
  std::function<void(subnet::Subnet&)> read_stored_;  ///< reads the stored fabric whose nodes are meant; empty: those of the live one
  std::vector<sa::NodeRecord> node_records_;
  std::unique_ptr<subnet::SweptSubnet> swept_;
  bool sa_path_parsed_{};
};

}  // namespace ib::tools
