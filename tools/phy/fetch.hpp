// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands of the physical layer share: which ports are read, the reading, the run of a command, and the names of a row.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mad/transactor.hpp"
#include "phy/reading.hpp"
#include "snapshot/anonymous_log.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/command.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {

/// A command that reads registers of a fabric, or of the part of it around the only target, and shows tables of them.
class PhyCommand : public Command {
 public:
  async::Task<> run(Session& session, Emit& emit) final;

 protected:
  /// Adds TARGET, --rate, --vskey, the options of a discovery and of a table with columns of these keys, and the common options.
  void add_options(OptionSet& set, CommonOptions& common, std::vector<std::string> keys);
  /// Prepares the reading. Throws UsageError for options that do not go together, before anything is sent.
  virtual void prepare(const Host& host) = 0;
  /// Whether a port is read that the command line does not name itself.
  virtual bool is_wanted(const subnet::Subnet& subnet, PortIndex port) const = 0;
  /// Reads, and emits what was read; by default once, until it ends or until Ctrl-C, which leaves the reading incomplete.
  virtual async::Task<> read(Session& session, Emit& emit);
  virtual void show(Host& host, Emit& emit, const phy::Reading& found) = 0;

  async::Task<phy::Reading> read_ports(Session& session);

  /// The table that is wanted. Throws UsageError for a column that is not there.
  template <class Row>
  report::Table<Row> table(std::span<const report::Column<Row>> columns) const {
    return report::Table<Row>(columns, shown_);
  }
  template <class Row>
  void emit_table(Emit& emit, std::string_view member, std::span<const report::Column<Row>> columns, std::vector<Row> rows) const {
    emit(TableReport<Row>(fabric_, member, table(columns), std::move(rows)));
  }

  std::vector<TargetPort> targets_;
  bool reads_planes_{};
  std::optional<std::string> raw_;  ///< the file for the MADs of the run
  phy::ReadingOptions reading_;     ///< what is read; read_ports() adds how
  TableOptions shown_;
  Fabric fabric_;

 private:
  async::Task<std::vector<ChosenNode>> find_targets(Session& session);
  async::Task<> discover_ports(Session& session);
  void add_ports(const ChosenNode& chosen);
  mad::Transactor& transactor(Session& session);
  phy::ReadingOptions reading_options(Session& session);
  void finish_reading(Host& host, phy::Reading& found);

  DiscoveryOptions discovery_;
  std::optional<std::string> vs_keys_file_;  ///< or `-`
  phy::VsKeys vs_keys_;
  std::vector<PortIndex> ports_;
  std::optional<subnet::PortPaths> paths_;
  phy::Planes planes_;
  std::set<NodeIndex> silent_;                 ///< devices
  std::optional<snapshot::AnonymousLog> log_;  ///< with `raw_`
};

/// The description of a node, or its name in the node name map; nothing where it was not read.
report::Cell node_name_cell(const Fabric& fabric, NodeIndex node);
report::Cell node_guid_cell(const Fabric& fabric, NodeIndex node);
report::Cell port_label_cell(const Fabric& fabric, PortIndex port);

}  // namespace ib::tools
