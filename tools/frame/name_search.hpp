// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds what a typed word means among the names of end ports: the one place for it. The rules are those of name_match.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "path/path.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/name_match.hpp"

namespace ib::tools {

/// An end port of a node that a word may name, with the description of the node.
struct NamedEndPort {
  Guid node;
  unsigned number{};
  bool is_switch{}, is_entry{};  ///< is_entry: the node was found by this port
  std::string description;
  path::Path path;  ///< by its LID, or by a directed route if it has no LID
};

/// The nodes that a word means, by one port each.
struct Named {
  std::vector<NamedEndPort> ports;
  NameMatch match = NameMatch::none;
};

class NameSearch {
 public:
  /// `names` must outlive this object. `is_stored`: the ports are those of a stored fabric.
  NameSearch(std::vector<NamedEndPort> ports, const subnet::NodeNameMap& names, bool is_stored)
      : ports_(std::move(ports)), names_(&names), is_stored_(is_stored) {}

  /// The site's name of the node, else its description.
  std::string name_of(const NamedEndPort& port) const;
  /// Those that `word` means, sorted by name; or if none is called so and it is NODE/PORT, that port of the node. Throws UsageError for a
  /// pattern or port that is not one.
  Named meant(std::string_view word) const;
  /// Why a word means no node. `complaint` says why it is not an address.
  std::string unknown(std::string_view word, std::string_view complaint) const;
  /// Why a word that means several nodes does not do: their names, and what to type.
  std::string ambiguous(const Named& named) const;

 private:
  Named matches(std::string_view word, std::optional<unsigned> number) const;

  std::vector<NamedEndPort> ports_;
  const subnet::NodeNameMap* names_;
  bool is_stored_;
};

/// Whether `word` is the whole name of a node: the site's name if there is one, or the description as it is or as infiniband-diags prints
/// it.
bool is_whole_name(std::string_view word, std::string_view description, std::optional<std::string_view> sites);

/// How a word that is only a part of a name means it, for the refusal of a Set.
std::string_view inexact(NameMatch match);

}  // namespace ib::tools
