// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of a switch, for ibroute and the dump_ commands: what is wanted, what was read, and how it is printed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "iba-gen/smp.hpp"
#include "path/path.hpp"
#include "report/sink.hpp"
#include "subnet/forwarding_tables.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools::tables {

/// The options of the user for a table. Both dialects set them.
struct Wanted {
  bool all{};              ///< include LIDs to which nothing is forwarded
  bool no_destinations{};  ///< do not find the owners of LIDs
  bool multicast{};
  std::optional<std::uint32_t> first, last;  ///< the range of LIDs, both included; in infiniband-diags' dialect 0 means no limit
};

/// The port that owns a LID. The views are valid as long as the object in which the destination was found.
struct Destination {
  Guid node_guid, port_guid;
  smp::NodeType node_type{};
  std::optional<std::string_view> description;
  Lid base;
  unsigned lmc{};
};
/// Finds the port that owns a LID. Returns nothing if no owner is known.
using FindDestination = std::function<std::optional<Destination>(Lid)>;

/// A switch and the table that was read.
struct SwitchTable {
  path::Path path;
  std::string name;  ///< the name of the path in texts
  Lid lid;           ///< the LID of the switch; zero if it is not known
  smp::NodeInfo node;
  smp::SwitchInfo info;
  bool has_info{};  ///< `info` was read
  std::optional<std::string> description;
  std::optional<subnet::LinearTable> linear;
  std::optional<subnet::MulticastTable> multicast;
  std::shared_ptr<const mad::MadError> error;  ///< the reason why the table is not complete; null if it is

  explicit SwitchTable(path::Path to) : path(std::move(to)) {}
  /// The number of blocks that were not read.
  std::size_t unread_blocks() const;
  /// Whether at least one entry was read, or the table has none.
  bool any_read() const;
};

/// Makes an empty table of the size that is wanted. With `all`, infiniband-diags also prints the groups after MulticastFDBTop.
void make_table(SwitchTable& of, const Wanted& wanted, bool diags);

/// The range of LIDs that infiniband-diags prints, also in the heading. `last` may be less than `first`.
struct DiagsRange {
  std::uint32_t first{}, last{};
};
DiagsRange diags_range(const smp::SwitchInfo& info, const Wanted& wanted);

/// Prints tables.
class TableText {
 public:
  /// All arguments must outlive the object.
  TableText(const Session& session, const Wanted& wanted, const subnet::NodeNameMap& names, FindDestination find)
      : session_(session), wanted_(wanted), names_(names), find_(std::move(find)) {}

  /// Also print the rest of the block after LinearFDBTop, as dump_lfts does.
  bool whole_blocks = false;
  /// The text of infiniband-diags for a LID without a known owner.
  std::string_view nobody = "unknown node and type";
  /// In infiniband-diags' dialect: a table ends at the first block that was not read. Without this, only such blocks are left out.
  bool breaks_off = true;

  void text(TextOut& out, const SwitchTable& of);
  void diags_text(TextOut& out, const SwitchTable& of);

  /// The text of a linear table in either dialect, row by row, for callers that wait for the owner of each LID:
  ///
  ///   auto rows = print.begin_rows(out, table, diags);
  ///   for (; rows.lid < rows.end && print.row(out, table, rows); ++rows.lid) …
  ///   print.end_rows(out, table, rows);
  struct Rows {
    unsigned lid{}, end{};  ///< the next row, and the row after the last one
    unsigned count{};       ///< rows that were printed
    bool diags{}, broken{};
  };
  Rows begin_rows(TextOut& out, const SwitchTable& of, bool diags);
  /// Prints row `rows.lid`, if the table has it. Returns false if the table breaks off there.
  bool row(TextOut& out, const SwitchTable& of, Rows& rows);
  void end_rows(TextOut& out, const SwitchTable& of, const Rows& rows) const;
  /// Writes an object, which is an element of a list.
  void visit(report::Sink& sink, const SwitchTable& of) const;
  /// Prints the remarks of infiniband-diags on impossible numbers, on stderr.
  void diags_remarks(const SwitchTable& of) const;

 private:
  void unicast(TextOut& out, const SwitchTable& of, bool diags);
  void unicast_row(TextOut& out, const SwitchTable& of, Rows& rows) const;
  bool diags_unicast_row(TextOut& out, const SwitchTable& of, Rows& rows);
  void multicast(TextOut& out, const SwitchTable& of) const;
  void diags_multicast(TextOut& out, const SwitchTable& of) const;
  std::string diags_destination(Lid lid, bool valid);
  std::string title(const SwitchTable& of) const;
  void visit_linear(report::Sink& sink, const SwitchTable& of) const;
  void visit_multicast(report::Sink& sink, const SwitchTable& of) const;
  void visit_destination(report::Sink& sink, Lid lid) const;

  const Session& session_;
  const Wanted& wanted_;
  const subnet::NodeNameMap& names_;
  FindDestination find_;

  // for infiniband-diags: the port with several LIDs whose rows are printed now
  unsigned base_ = 0, last_ = 0;
  Guid port_guid_;
};

}  // namespace ib::tools::tables
