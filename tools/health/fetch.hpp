// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health looks at, and what is read of it: one function for each source besides the model. It fills its members of the input, or sets
// the reason why they are missing.
#pragma once

#include <chrono>
#include <deque>
#include <functional>

#include "async/clock.hpp"
#include "async/loop.hpp"
#include "async/task.hpp"
#include "counters/readings.hpp"
#include "health/diagnosis.hpp"
#include "mad/transactor.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/target.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::health {

using namespace ib::health;

inline constexpr double usual_interval = 10;  // seconds between two readings

struct HealthRequest {
  Target target;                        ///< one node and its links; not given: the whole fabric
  std::optional<double> interval;       ///< seconds between two readings, usually 10; 0: one reading
  std::optional<std::string> since;     ///< the snapshot that holds the first reading
  bool is_local{};                      ///< only the end port of this host, and its link
  std::optional<std::string> state;     ///< the file that keeps its last reading
  std::optional<std::string> baseline;  ///< the stored fabric to compare with
  std::set<std::string> hosts;          ///< only the links that packets between these use; empty: all
  HostNames host_names;
  bool phy{};            ///< the registers of the physical layer of all links are read, and judged
  bool explains = true;  ///< without `phy`, the registers of ports with findings are read
  phy::VsKeys vs_keys;   ///< of the devices whose registers are read
  bool routes{};         ///< the forwarding tables are read, and looked at as a whole
  Selection selection;
  Thresholds thresholds;
  Level fail_on = Level::warning;
  DiscoveryOptions discovery;
};

/// The readings of counters between which changes are looked for: two of this fabric, or one of a snapshot and one of this fabric.
class CounterReadings {
 public:
  /// `is_local`: few MADs are sent; no details of errors and discards are read, and no SMP says whose counters they are.
  explicit CounterReadings(bool is_local = false) : is_local_(is_local) {}

  /// The FEC modes of ports of `subnet`: where the PMA has counters of blocks, they are read from these ports, also in a snapshot, which
  /// knows them by GUID and number. To be called again for another model. Both must outlive the next readings.
  void read_blocks_of(const Subnet& subnet, const subnet::FecModes& modes) {
    fec_subnet_ = &subnet;
    fec_modes_ = &modes;
  }
  bool has_blocks() const { return has_blocks_; }

  /// Reads the ports of `scope` in this fabric, or in the snapshot of --from, and keeps what they hold for the next reading, of whatever
  /// model. With `table`, adds to it what they have counted since the reading before. Returns what failed. `subnet` and `scope` must
  /// outlive the task.
  async::Task<subnet::Failures> read(Stack& stack, const Subnet& subnet, const Scope& scope, subnet::SurveyOptions options,
                                     CounterTable* table);
  /// Takes the counters in a snapshot as the reading before the first one of `current`. Throws UsageError where it has none, or is of
  /// another fabric.
  async::Task<> read_snapshot(Stack& stack, const std::string& file, const Subnet& current);
  /// Adds the ports of a subnet without a link that had one when the snapshot was taken, with the ports at the other ends.
  void name_former_peers(const Subnet& subnet, std::map<PortIndex, PortIndex>& peers);
  /// The ones of `ports` whose nodes were there at the last reading. A node that has come since begins to be watched now.
  std::vector<PortIndex> known_ports(std::vector<PortIndex> ports, const Subnet& subnet) const;
  /// A failure that names the nodes of the snapshot that are not in `subnet`; none if all are there.
  subnet::Failures find_gone(const Subnet& subnet);
  bool any() const { return history_.size() != 0; }
  void keep_nodes_of(const Subnet& subnet);
  counters::CounterHistory& history() { return history_; }

 private:
  using Take = std::function<void(NodeIndex node, const counters::PmaReading& reading)>;
  async::Task<subnet::Failures> read_all(mad::Transactor& transactor, const Subnet& subnet, subnet::SurveyOptions options,
                                         const Scope& scope, mad::Transactor* owners, Take take);
  const StructInfo* blocks_layout(const Subnet& subnet, const counters::PmaReading& reading) const;
  bool has_moved(const counters::CounterKey& key, const counters::PmaReading& reading, std::string_view counter) const;

  bool is_local_;
  counters::CounterHistory history_;
  counters::KnownPmas pmas_;
  const Subnet* fec_subnet_{};
  const subnet::FecModes* fec_modes_{};  ///< of ports of fec_subnet_; null: blocks are not read
  bool has_blocks_{};
  std::set<Guid> nodes_;                              ///< of the model of the last reading
  std::unique_ptr<snapshot::StoredFabric> since_;     ///< the snapshot; null: there is none
  std::optional<snapshot::SnapshotTransactor> then_;  ///< answers from it
};

std::vector<PortIndex> ports_in(const Scope& scope, const Subnet& subnet);

/// The hosts in `text`, or in the file of that name. Throws UsageError where it names none.
std::set<std::string> read_hosts(const std::string& text);

/// What TARGET or --nodes names; without them all. With --nodes reads the forwarding tables of all switches. What does not answer, and
/// hosts that are not in the fabric, are added to the failures of `fabric`. Throws UsageError where none of the hosts is there.
async::Task<Scope> find_scope(Stack& stack, Fabric& fabric, const HealthRequest& wanted);

NodeIndex target_node(const Fabric& fabric, const HealthRequest& wanted);

/// The least time between two activity counts: managers that do nothing for that long do not even poll each other.
inline constexpr std::chrono::seconds least_window{120};

struct EarlierManagers {
  std::map<Guid, std::uint32_t> act_counts;  ///< by port GUID, where only one manager has it
  async::Time time{};
  std::uint32_t own_requests = 1;  ///< the requests that they have answered since: this one, and one in each round in between
};
/// The activity counts of subnet managers in the rounds of --repeat, as far back as they are needed.
class ManagerHistory {
 public:
  void add(EarlierManagers now);
  /// The last round that is long enough before `now`; else the first one. Nothing before the first one.
  std::optional<EarlierManagers> before(async::Time now) const;

 private:
  std::deque<EarlierManagers> rounds_;
};
using LastPhy = std::shared_ptr<const phy::Reading>;

struct EarlierRounds {
  CounterReadings counters{};
  ManagerHistory managers{};
  std::optional<std::map<Guid, std::string>> firmware{};  ///< of the first round with a baseline, as in Input::firmware
  LastPhy phy{};                                          ///< the registers of the last round; null: there are none
  const Subnet* model{};                                  ///< of the last round; null: this is the first one
  LastPhy phy_now{};                                      ///< the registers of this round
};

/// The multicast groups of the SA.
struct GroupRecords {
  std::vector<sa::MCMemberRecord> records;
  std::string why;  ///< the reason why there are none
};

/// A reading of the sources of a fabric: what is wanted, how it is reached, and what gets it.
struct HealthRun {
  Stack& stack;
  Fabric& fabric;  ///< gets the failures
  const HealthRequest& wanted;
  const Scope& scope;  ///< the ports whose counters and registers are read
  Input& input;        ///< of `fabric`
  /// With it each source is read once, and compared with its last reading; null: as often as is wanted.
  EarlierRounds* earlier{};

  Sources needed = wanted.selection.needs();
  subnet::PortPaths paths{fabric.subnet, stack.here()};  ///< to the ports; the SA gives their service levels once
  std::set<NodeIndex> silent{};                          ///< devices that were silent before, and get no further request
  std::optional<GroupRecords> groups{};                  ///< which two sources need; absent: they were not read yet

  bool needs(Source source) const { return needed.test(static_cast<std::size_t>(source)); }
};

/// Whether the file of --from, if there is one, lacks this part, which holds `what`. Then the source is excluded for that reason.
bool lacks_part(HealthRun& run, std::string_view part, Source source, std::string_view what);

/// Has the SA give the service levels of the paths, unless it was queried for them before.
async::Task<> read_service_levels_once(HealthRun& run);

/// Reads Source::managers, with `earlier` Source::activity too: at the ports with IsSM, at the SM LID of our own port, and at the LIDs in
/// the SA's SMInfoRecords, unless the SA is known not to answer. Returns their activity counts.
async::Task<EarlierManagers> read_managers(HealthRun& run, const std::optional<EarlierManagers>& earlier);
async::Task<EarlierManagers> managers_now(Stack& stack, const Fabric& fabric);
async::Task<std::optional<EarlierManagers>> managers_in_file(Stack& stack, const std::string& file);

/// Follows requests by LID that were not answered, those to a silent SA among them, through the forwarding tables of the switches on their
/// way, of which it reads the blocks that matter. What fails there is not reported: the way is then not known.
async::Task<> trace_lost_requests(HealthRun& run);
/// Source::pkeys: one MAD for each block of 32 P_Keys, up to the first one that holds none.
async::Task<> read_pkeys(HealthRun& run);
/// Reads Source::pkeys of any fabric, the one of `input`. Returns what failed.
async::Task<subnet::Failures> survey_pkeys(mad::Transactor& transactor, path::Path start, Input& input);
/// Input::firmware, where the baseline of the input has it: of a snapshot whatever it holds, of a live fabric the firmware of the nodes of
/// which the baseline knows it, by one GMP each.
async::Task<> read_firmware(HealthRun& run);
/// Source::groups: one request to the SA, unless the SA is known not to answer.
async::Task<> read_broadcast_groups(HealthRun& run);
/// Source::routes: the linear and multicast forwarding tables of all switches, the members of groups as far as the SA names them, and the
/// SLtoVL mapping tables of ports that can wait for each other in a circle.
async::Task<> read_routes(HealthRun& run);

/// Fills the sources that the wanted checks need, sets the reason of the others, and runs the checks. Of the first round, the registers of
/// ports with findings are read too, unless HealthRequest says otherwise.
async::Task<Diagnosis> diagnose(HealthRun& run);

// The times of readings that were kept in a file. A window that cannot be is refused: what a clock that was not set yet has written, or
// one that is set now, would make a window of decades, in which no number of errors is too great.

using WallTime = std::chrono::system_clock::time_point;

/// Why a reading cannot have been made at `milliseconds` since 1970; empty if it can.
std::string why_impossible(std::optional<std::int64_t> milliseconds, WallTime now);

/// The time of this run at which a stored fabric was complete. It may be before the run's zero. Throws UsageError where the file has no
/// such time, or an impossible one.
async::Time time_of(snapshot::StoredFabric& stored, async::Loop& loop);

/// The time of this run that is `milliseconds` since 1970, which are possible.
async::Time time_of(std::int64_t milliseconds, async::Loop& loop);

class StoredBaseline {
 public:
  /// Opens `file`, whose nodes have the names of `names`. Without a name reads nothing. Throws as snapshot::open_fabric() does.
  StoredBaseline(const std::optional<std::string>& file, const subnet::NodeNameMap& names);

  /// Reads what the file has beside its model. Without it that is not compared.
  async::Task<> read_tables();

  const Fabric* fabric() const { return fabric_ ? &*fabric_ : nullptr; }
  /// Whether it has counters, of a time before those of the fabric, or of the file of --from.
  bool is_first_reading(Host& host) const;
  /// The differences of `current` from it, which live as long as this object and until the next call; null: nothing was read. Throws
  /// UsageError if it is of another fabric.
  const Baseline* compare(const Subnet& current);

 private:
  std::unique_ptr<snapshot::StoredFabric> stored_;
  BaselineTables tables_;
  std::optional<Fabric> fabric_;
  std::optional<std::int64_t> counters_time_;  ///< in milliseconds since 1970; absent: it has no counters
  std::optional<Baseline> compared_;
};

// --port local: the end port of this host and its link, without a sweep, in at most eight MADs. For schedulers, which look often and at
// many hosts: --state keeps the reading, so that the next run compares with it and waits for nothing.

/// What is found where nothing but this host's node can be looked at, because its end port is Down.
struct DownPort {
  Fabric own;             ///< the node, as sysfs has it
  StoredBaseline former;  ///< the fabric of --baseline, else of another file that may know what the port was linked to
  Diagnosis diagnosis;
};
DownPort examine_down_port(Stack& stack, const HealthRequest& wanted);

/// The wanted checks that need one link only. Throws UsageError if there are none.
Selection local_selection(const Selection& wanted);

// What health prints: the verdict, findings from the worst on, and what was not checked.

class Lines;
class HealthReport;

struct FindingLine {
  const HealthReport* report;
  const Finding* finding;
};
std::span<const report::Column<FindingLine>> finding_columns();

class HealthReport final : public FabricReport {
 public:
  /// `before`: the baseline; `registers`: what was read of the physical layer; both may be null. All must outlive this.
  HealthReport(const Host& host, const Fabric& of, const Fabric* before, const HealthRequest& wanted, const Diagnosis& found,
               const phy::Table* registers = nullptr);
  /// The report of an own port that is Down: `first_line` says so, and nothing is counted.
  HealthReport(Stack& stack, const HealthRequest& wanted, const DownPort& down);

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;
  void emit(Emit& emit, const TableOptions& options) const;

  // For the columns of a finding:
  /// Findings in words.
  FindingText words() const { return {fabric.subnet, fabric.names, before_ == nullptr ? nullptr : &before_->subnet}; }
  void visit_end(report::Sink& sink, const Place& place, bool is_manager) const;

 private:
  Verdict verdict() const;

  bool is_brief(const Finding& finding) const;
  /// The number of findings from index `at` on that share a line: infos of one check about many ports or nodes.
  std::size_t count_alike(std::size_t at) const;
  void text_findings(Lines& lines) const;

  const Fabric* before_;
  const HealthRequest& wanted_;
  const Diagnosis& diagnosis_;
  const phy::Table* phy_;
  Terminal terminal_;
  bool is_verbose_;         ///< infos are as long as other findings
  std::string first_line_;  ///< in the place of the verdict
};

/// --port local: reports this host's link.
async::Task<> run_local(Session& session, Emit& emit, const HealthRequest& wanted, const TableOptions& table);

}  // namespace ib::tools::health
