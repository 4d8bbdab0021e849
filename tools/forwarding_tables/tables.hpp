// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of a switch, for ibroute and the dump_ commands: what is wanted, what was read, and how it is printed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "iba-gen/smp.hpp"
#include "path/path.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/lid_owners.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/frame/report.hpp"

namespace ib::tools {
class Host;
class OptionSet;
}  // namespace ib::tools

namespace ib::tools::tables {

struct TableSelection {
  bool diags{};  ///< as infiniband-diags: LinearFDBCap does not count, and with `all` the groups after MulticastFDBTop are included
  bool all{};    ///< include LIDs to which nothing is forwarded
  bool no_destinations{};  ///< do not find the owners of LIDs
  bool multicast{};
  std::optional<std::uint32_t> first{}, last{};  ///< the range of LIDs, both included; in infiniband-diags' dialect 0 means no limit
};

/// Adds all options of a selection: the range, -a, -n and -M.
void add_selection(OptionSet& set, TableSelection& selection, bool of_all_switches);
inline constexpr std::string_view all_help = "Show also LIDs to which nothing is forwarded.";  ///< of -a
void check_range(const TableSelection& selection);

/// Finds the port that owns a LID. Returns nothing if no owner is known.
using FindOwner = std::function<std::optional<subnet::LidOwner>(Lid)>;

struct SwitchTable {
  path::Path path;
  std::string name;  ///< the name of the path in texts
  Lid lid;           ///< the LID of the switch; zero if it is not known
  smp::NodeInfo node;
  subnet::NodeIndex index = subnet::none;  ///< in the model of a sweep
  smp::SwitchInfo info;
  bool has_info{};  ///< `info` was read
  std::optional<std::string> description;
  std::optional<subnet::LinearTable> linear;
  std::optional<subnet::MulticastTable> multicast;
  std::shared_ptr<const mad::MadError> error;  ///< the reason why the table is not complete; null if it is

  explicit SwitchTable(path::Path to) : path(std::move(to)) {}
  const subnet::ForwardingTable* table() const {
    if (linear) return &*linear;
    return multicast ? &*multicast : nullptr;
  }
  /// Reads the entries that are not known yet from the switch at the end of `to`. Sets `error`.
  async::Task<> read(mad::Transactor& transactor, path::Path to);
  /// Whether at least one entry was read, or the table has none.
  bool any_read() const;
};

/// Sets the table with no entry known yet, which `selection` wants, by the SwitchInfo.
void make_table(SwitchTable& of, const TableSelection& selection);

/// Waits until the owner of a LID is known, or is known to be silent.
using WaitForOwner = std::function<async::Task<>(Lid)>;

/// What both dialects print tables with. The references must outlive the object.
struct TableTextBase {
  const Host& host;
  const TableSelection& selection;
  const subnet::NodeNameMap& names;
  FindOwner find;
  /// Awaited before each row of a linear table, if it is not empty.
  WaitForOwner settled{};
};

/// Prints tables in the words of ibtool.
struct TableText : TableTextBase {
  bool whole_blocks = false;  ///< also print the rest of the block after LinearFDBTop, as dump_lfts does

  async::Task<> text(TextOut& out, const SwitchTable& of) const;
  /// Writes an object, which is an element of a list.
  void visit(report::Sink& sink, const SwitchTable& of) const;
  /// Announces the members of such objects, of which `of` is an example; it needs no table.
  void announce(report::Sink& sink, const SwitchTable& of) const;

 private:
  void multicast(TextOut& out, const SwitchTable& of) const;
  std::string name_text(Guid node, const std::optional<std::string>& description) const;
  std::string title(const SwitchTable& of) const { return of.name + ' ' + name_text(of.node.node_guid, of.description); }
  void visit_switch(report::Sink& sink, const SwitchTable& of, bool is_example) const;
  void visit_route(report::Sink& sink, Lid lid, std::optional<unsigned> port) const;
};

/// Prints tables as infiniband-diags does, and its remarks on impossible numbers on stderr.
struct DiagsTableText : TableTextBase {
  /// The text for a LID without a known owner.
  std::string_view no_owner = "unknown node and type";
  /// A table ends at the first block that was not read. Without this, only such blocks are left out.
  bool breaks_off = true;

  async::Task<> text(TextOut& out, const SwitchTable& of) const;

 private:
  /// The port with several LIDs whose rows are printed now.
  struct LidsOfPort {
    unsigned base = 0, last = 0;
    Guid guid;
  };
  void multicast(TextOut& out, const SwitchTable& of) const;
  std::string destination(LidsOfPort& port, Lid lid, bool valid) const;
};

}  // namespace ib::tools::tables
