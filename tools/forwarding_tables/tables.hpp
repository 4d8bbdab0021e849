// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of a switch, for ibroute and the dump_ commands: what is wanted, what was read, and how it is printed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "path/path.hpp"
#include "report/sink.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/smp_tables.hpp"

namespace ib::tools {
class Host;
class OptionSet;
class TextOut;
}  // namespace ib::tools

namespace ib::tools::tables {

struct TableSelection {
  bool all{};              ///< include LIDs to which nothing is forwarded
  bool no_destinations{};  ///< do not find the owners of LIDs
  bool multicast{};
  std::optional<std::uint32_t> first, last;  ///< the range of LIDs, both included; in infiniband-diags' dialect 0 means no limit
};

void add_range(OptionSet& set, TableSelection& selection);
void check_range(const TableSelection& selection);

struct LidOwner {
  Guid node_guid, port_guid;
  smp::NodeType node_type{};
  std::optional<std::string> description;
  Lid base;
  unsigned lmc{};
};
/// Finds the port that owns a LID. Returns nothing if no owner is known.
using FindOwner = std::function<std::optional<LidOwner>(Lid)>;

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
  const subnet::ForwardingTable* table() const {
    if (linear) return &*linear;
    return multicast ? &*multicast : nullptr;
  }
  /// Reads the entries that are not known yet from the switch at the end of `to`. Sets `error`.
  async::Task<> read(mad::Transactor& transactor, path::Path to);
  std::vector<std::uint32_t> unknown_blocks() const {
    return table() != nullptr ? table()->unknown_blocks() : std::vector<std::uint32_t>();
  }
  /// Whether at least one entry was read, or the table has none.
  bool any_read() const;
};

using MakeTable = void (*)(SwitchTable& of, const TableSelection& selection);
void make_table(SwitchTable& of, const TableSelection& selection);
/// As infiniband-diags: LinearFDBCap does not count, and with `all` the groups after MulticastFDBTop are included.
void make_diags_table(SwitchTable& of, const TableSelection& selection);

/// Waits until the owner of a LID is known, or is known to be silent.
using WaitForOwner = std::function<async::Task<>(Lid)>;

/// Prints tables in the words of ibtool. All arguments must outlive the object.
class TableText {
 public:
  TableText(const TableSelection& selection, const subnet::NodeNameMap& names, FindOwner find)
      : selection_(selection), names_(names), find_(std::move(find)) {}

  /// Also print the rest of the block after LinearFDBTop, as dump_lfts does.
  bool whole_blocks = false;
  /// Awaited before each row of a linear table, if it is not empty.
  WaitForOwner settled;

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
  void visit_destination(report::Sink& sink, Lid lid) const;

  const TableSelection& selection_;
  const subnet::NodeNameMap& names_;
  FindOwner find_;
};

/// Prints tables as infiniband-diags does, and its remarks on impossible numbers on stderr. All arguments must outlive the object.
class DiagsTableText {
 public:
  DiagsTableText(const Host& host, const TableSelection& selection, const subnet::NodeNameMap& names, FindOwner find)
      : host_(host), selection_(selection), names_(names), find_(std::move(find)) {}

  /// The text for a LID without a known owner.
  std::string_view nobody = "unknown node and type";
  /// A table ends at the first block that was not read. Without this, only such blocks are left out.
  bool breaks_off = true;
  WaitForOwner settled;  ///< as TableText::settled

  async::Task<> text(TextOut& out, const SwitchTable& of);

 private:
  void multicast(TextOut& out, const SwitchTable& of) const;
  std::string destination(Lid lid, bool valid);

  const Host& host_;
  const TableSelection& selection_;
  const subnet::NodeNameMap& names_;
  FindOwner find_;

  // the port with several LIDs whose rows are printed now
  unsigned base_ = 0, last_ = 0;
  Guid port_guid_;
};

}  // namespace ib::tools::tables
