// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery in infiniband-diags' dialect. Numbers are read like strtoul does, words and parts that are too many are ignored, and options for
// members have an effect only on paths and multicast members.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "tools/frame/diags_options.hpp"
#include "tools/saquery/option_tables.hpp"
#include "tools/saquery/packet_dump.hpp"
#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {

/// The query of a command line.
class DiagsQuery {
 public:
  void options(DiagsOptions& set);
  /// Sends the queries and emits what the SA answers. Throws on failure.
  async::Task<> run(Session& session, Emit& emit);

 private:
  std::optional<std::string> first_word() const { return words_.empty() ? std::nullopt : std::optional(words_[0]); }

  void choose(const Choice& choice);
  void read_words();
  void set_lids(const std::string& text);
  void set_gids(const std::string& text);
  void add_gid(std::string_view member, const std::string& text);
  void match_all_paths();
  void take_member(const MemberOption& option, const std::string& text, const CommonOptions& common);

  async::Task<> list_records(const Ask& ask) const;
  async::Task<sa::Pattern> make_pattern(const Ask& ask) const;
  void match_options(sa::Pattern& pattern) const;
  void set_form(Session& session, FormedReport& report) const;

  std::vector<std::string> words_;
  std::string record_;                                          ///< the name of the kind of records
  const Choice* command_{};                                     ///< the last option that names a list of its own
  List list_ = List::records;                                   ///< that list
  List about_nodes_ = List::nodes;                              ///< what is printed of nodes, by the last option that says so
  std::vector<std::pair<std::string_view, std::string>> ends_;  ///< the ends of a path by their members: LIDs or names of nodes
  std::map<std::string_view, std::string> gids_;                ///< by their members
  std::map<const MemberOption*, std::uint64_t> numbers_;
  std::optional<PacketDump> dump_;
};

}  // namespace ib::tools::saquery
