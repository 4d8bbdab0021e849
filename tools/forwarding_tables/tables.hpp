// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of one switch as ibroute and the dump_ commands show them: what is wanted, what was read, and its texts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "iba-gen/smp.hpp"
#include "out/sink.hpp"
#include "path/path.hpp"
#include "subnet/forwarding_tables.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools::tables {

/// What is wanted of a table, in the words of both command lines.
struct Wanted {
  bool all{};              ///< also LIDs to which nothing is forwarded
  bool no_destinations{};  ///< do not say whose LIDs they are
  bool multicast{};
  std::optional<std::uint32_t> first, last;  ///< LIDs, both included; in infiniband-diags' words 0 is none
};

/// The port that a LID belongs to. Views last as long as what the destination was found in.
struct Destination {
  Guid node_guid, port_guid;
  smp::NodeType node_type{};
  std::optional<std::string_view> description;
  Lid base;
  unsigned lmc{};
};
/// The port of a LID; nothing where nobody is known to have it.
using FindDestination = std::function<std::optional<Destination>(Lid)>;

/// One switch, and the table that was wanted.
struct SwitchTable {
  path::Path path;
  std::string name;  ///< what texts call the path
  Lid lid;           ///< of the switch, where it is known
  smp::NodeInfo node;
  smp::SwitchInfo info;
  std::optional<std::string> description;
  std::optional<subnet::LinearTable> linear;
  std::optional<subnet::MulticastTable> multicast;
  std::shared_ptr<const mad::MadError> error;  ///< why the table is not wholly known

  explicit SwitchTable(path::Path to) : path(std::move(to)) {}
};

/// Makes the table that is wanted of a switch, of which nothing is known yet. infiniband-diags shows with `all` what is behind
/// MulticastFDBTop.
void make_table(SwitchTable& of, const Wanted& wanted, bool diags);

/// The LIDs that infiniband-diags shows, and names in the heading. `last` may be before `first`.
struct DiagsRange {
  std::uint32_t first{}, last{};
};
DiagsRange diags_range(const smp::SwitchInfo& info, const Wanted& wanted);

/// Prints tables.
class TableText {
 public:
  /// All must outlive the object.
  TableText(const Session& session, const Wanted& wanted, const subnet::NodeNameMap& names, FindDestination find)
      : session_(session), wanted_(wanted), names_(names), find_(std::move(find)) {}

  /// Show also what is behind LinearFDBTop in its block, as dump_lfts does.
  bool whole_blocks = false;
  /// infiniband-diags' words for a LID that nobody is known to have.
  std::string_view nobody = "unknown node and type";
  /// In infiniband-diags' words: a table ends at the first block that was not read; else such blocks are left out.
  bool breaks_off = true;

  void text(TextOut& out, const SwitchTable& of) const;
  void diags_text(TextOut& out, const SwitchTable& of);
  /// An object, the element of a list.
  void visit(out::Sink& sink, const SwitchTable& of) const;
  /// infiniband-diags' remarks on impossible numbers, on stderr.
  void diags_remarks(const SwitchTable& of) const;

 private:
  void unicast(TextOut& out, const SwitchTable& of) const;
  void multicast(TextOut& out, const SwitchTable& of) const;
  void diags_unicast(TextOut& out, const SwitchTable& of);
  void diags_multicast(TextOut& out, const SwitchTable& of) const;
  std::string diags_destination(Lid lid, bool valid);
  std::string title(const SwitchTable& of) const;
  void visit_destination(out::Sink& sink, Lid lid) const;

  const Session& session_;
  const Wanted& wanted_;
  const subnet::NodeNameMap& names_;
  FindDestination find_;

  // infiniband-diags: the port with several LIDs that the rows are at
  unsigned base_ = 0, last_ = 0;
  Guid port_guid_;
};

}  // namespace ib::tools::tables
