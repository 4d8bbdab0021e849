// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands of the physical layer share: which ports are read, the reading, the run of a command, and the names of a row.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "phy/planes.hpp"
#include "phy/reading.hpp"
#include "phy/vs_keys.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/commands.hpp"
#include "tools/phy/raw_file.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {

struct PhyWanted {
  std::vector<TargetPort> targets;
  DiscoveryOptions discovery;
  unsigned per_second = 2000;
  bool histogram{}, planes{}, received_bits{};
  std::optional<std::string> raw;      ///< the file for the MADs of the run
  std::optional<std::string> vs_keys;  ///< the file of VS_Keys, or `-`
  phy::ReadingScope registers = phy::ReadingScope::ports;
  phy::Parts parts = phy::usual_parts;
  /// Whether a port is read that the command line does not name itself.
  std::function<bool(const subnet::Subnet& subnet, subnet::PortIndex port)> wants;
};

/// A fabric, or the part of it around the only target, and the reading of the registers of its ports.
class PhyFabric {
 public:
  /// Reads the VS_Keys, and begins the file of --raw. Throws UsageError and SysError.
  PhyFabric(Session& session, const PhyWanted& wanted);

  /// Discovers the fabric, and finds the ports to read. Throws Error for a port that its node does not have.
  async::Task<> discover();
  /// Reads the ports. Failures are printed, and added to the fabric.
  async::Task<phy::Reading> read();
  /// As above, until it ends, or Ctrl-C: then what was read so far, which is incomplete.
  async::Task<phy::Reading> read_until_interrupted();

  /// Writes the file of --raw, if there is one. Throws SysError.
  void finish() {
    if (raw_) raw_->write(fabric_.subnet);
  }

  const Fabric& fabric() const { return fabric_; }

 private:
  async::Task<std::vector<ChosenNode>> find_targets();
  void add_ports(const ChosenNode& chosen);
  mad::Transactor& transactor() { return raw_ ? raw_->on(session_.stack().transactor()) : session_.stack().transactor(); }
  phy::ReadingOptions reading_options();
  void finish_reading(phy::Reading& found);

  Session& session_;
  const PhyWanted& wanted_;
  DiscoveryOptions discovery_;
  phy::VsKeys vs_keys_;
  Fabric fabric_;
  std::vector<subnet::PortIndex> ports_;
  std::optional<subnet::PortPaths> paths_;
  phy::Planes planes_;
  std::set<subnet::NodeIndex> silent_;  ///< devices
  std::optional<FileReplacement> raw_file_;
  std::optional<RawFile> raw_;
};

/// A command that reads registers and shows tables of them.
class PhyCommand : public Command {
 public:
  async::Task<> run(Session& session, Emit& emit) final;

 protected:
  /// Adds TARGET, --rate, --vskey, the options of a discovery and of a table with columns of these keys, and the common options.
  void add_options(OptionSet& set, CommonOptions& common, std::vector<std::string> keys);
  /// Prepares the reading. Throws UsageError for options that do not go together, before anything is sent.
  virtual void prepare(const Host& host) = 0;
  /// Reads, and emits what was read; once by default.
  virtual async::Task<> read(Stack& stack, Emit& emit, PhyFabric& fabric);
  virtual void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) = 0;

  /// Checks the options of a table with these columns.
  template <class Row>
  void check_table(std::span<const report::Column<Row>> columns) const {
    table(columns);
  }
  /// A table with these columns, as the options have it. Throws UsageError for a column that is not there.
  template <class Row>
  report::Table<Row> table(std::span<const report::Column<Row>> columns) const {
    return table_of<Row>(columns, shown_);
  }
  template <class Row>
  void emit_table(const Host& host, Emit& emit, const Fabric& fabric, std::string_view member, std::span<const report::Column<Row>> columns,
                  std::vector<Row> rows) const {
    emit(TableReport<Row>(fabric, member, table(columns), std::move(rows), host.world().out));
  }

  PhyWanted wanted_;
  TableOptions shown_;
};

/// The description of a node, or its name in the node name map; nothing where it was not read.
report::Cell node_name_cell(const Fabric& fabric, subnet::NodeIndex node);
report::Cell node_guid_cell(const Fabric& fabric, subnet::NodeIndex node);
/// The label of a port on its box.
report::Cell port_label_cell(const Fabric& fabric, subnet::PortIndex port);

}  // namespace ib::tools
