// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health looks at, and what is read of it: one function for each source besides the model. It fills its members of the input, or sets
// the reason why they are missing.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/clock.hpp"
#include "async/loop.hpp"
#include "async/task.hpp"
#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "health/checks.hpp"
#include "health/diagnosis.hpp"
#include "health/hosts.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "health/thresholds.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "phy/vs_keys.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
class Stack;
}

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
  bool explains = true;  ///< without them, those of ports with findings are read
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
  enum class Cost : std::uint8_t {
    usual,
    least,  ///< no details of errors and discards, no service levels, and no SMP that says whose counters they are
  };
  explicit CounterReadings(Cost cost = Cost::usual) : cost_(cost) {}

  /// The FEC modes of ports of `subnet`: where the PMA has counters of blocks, they are read from these ports, also in a snapshot, which
  /// knows them by GUID and number. To be called again for another model. Both must outlive the next readings.
  void read_blocks_of(const subnet::Subnet& subnet, const subnet::FecModes& modes) {
    fec_subnet_ = &subnet;
    fec_modes_ = &modes;
  }
  /// Whether a port reported such counters.
  bool has_blocks() const { return has_blocks_; }

  /// Reads the ports of `scope` in this fabric, or in the snapshot of --from, and keeps what they hold for the next reading, of whatever
  /// model. With `table`, adds to it what they have counted since the reading before. Returns what failed. `subnet` and `scope` must
  /// outlive the task.
  async::Task<subnet::Failures> read(Stack& stack, const subnet::Subnet& subnet, const Scope& scope, subnet::SurveyOptions options,
                                     CounterTable* table);
  /// Takes the counters in a snapshot as the reading before the first one of `current`. Throws UsageError where it has none, or is of
  /// another fabric.
  async::Task<> read_snapshot(Stack& stack, const std::string& file, const subnet::Subnet& current);
  /// Adds the ports of a subnet without a link that had one when the snapshot was taken, with the ports at the other ends.
  void name_former_peers(const subnet::Subnet& subnet, std::map<subnet::PortIndex, subnet::PortIndex>& peers) const;
  /// Those of `ports` whose nodes were there at the last reading. A node that has come since begins to be watched now.
  std::vector<subnet::PortIndex> known_ports(std::vector<subnet::PortIndex> ports, const subnet::Subnet& subnet) const;
  /// A failure that names the nodes of the snapshot that are not in `subnet`; none if all are there.
  subnet::Failures find_gone(const subnet::Subnet& subnet) const;
  bool any() const { return history_.size() != 0; }
  /// Forgets nodes that `subnet`, which was swept again, does not hold.
  void keep_nodes_of(const subnet::Subnet& subnet);
  counters::CounterHistory& history() { return history_; }

 private:
  using EndOfLink = std::pair<Guid, std::uint8_t>;  // the GUID of the node, and the number of the port
  using Take = std::function<void(subnet::NodeIndex node, const counters::PmaReading& reading)>;
  async::Task<subnet::Failures> read_all(mad::Transactor& transactor, const subnet::Subnet& subnet, subnet::SurveyOptions options,
                                         const Scope& scope, mad::Transactor* owners, Take take);
  const StructInfo* blocks_layout(const subnet::Subnet& subnet, const counters::PmaReading& reading) const;
  bool has_moved(const counters::CounterKey& key, const counters::PmaReading& reading, std::string_view counter) const;

  Cost cost_;
  counters::CounterHistory history_;
  counters::KnownPmas pmas_;
  const subnet::Subnet* fec_subnet_{};
  const subnet::FecModes* fec_modes_{};   ///< of ports of fec_subnet_; null: blocks are not read
  std::map<EndOfLink, EndOfLink> links_;  ///< of the snapshot, both ways
  bool has_blocks_{};
  std::set<Guid> nodes_;                     ///< of the model of the last reading
  std::string since_;                        ///< the snapshot
  std::map<Guid, std::string> since_nodes_;  ///< its nodes, with their descriptions
};

/// The ports of `scope` whose counters are read.
std::vector<subnet::PortIndex> ports_in(const Scope& scope, const subnet::Subnet& subnet);

/// The hosts in `text`, or in the file of that name. Throws UsageError where it names none.
std::set<std::string> read_hosts(const std::string& text);

/// What TARGET or --nodes names; without them all. With --nodes reads the forwarding tables of all switches. What does not answer, and
/// hosts that are not in the fabric, are added to the failures of `fabric`. Throws UsageError where none of the hosts is there.
async::Task<Scope> find_scope(Stack& stack, Fabric& fabric, const HealthRequest& wanted);

/// The node of TARGET. Throws Error where it is not in the fabric.
subnet::NodeIndex target_node(const Fabric& fabric, const HealthRequest& wanted);

/// Whether the file of --from, if there is one, lacks this part, which holds `what`. Then the source is excluded for that reason.
bool lacks_part(Host& host, std::string_view part, Source source, std::string_view what, Input& input);

/// What is read, and how it is reached.
struct Extent {
  const HealthRequest& wanted;
  const Scope& scope;                    ///< the ports whose counters and registers are read
  subnet::PortPaths& paths;              ///< to them, which the SA gives once
  std::set<subnet::NodeIndex> silent{};  ///< devices that were silent before, and get no further request
};

/// Has the SA give the service levels of `paths`, unless it was queried for them before.
async::Task<> read_service_levels_once(Stack& stack, subnet::PortPaths& paths);

/// The least time between two activity counts: managers that do nothing for that long do not even poll each other.
inline constexpr std::chrono::seconds least_window{120};

/// The activity counts of subnet managers at an earlier time.
struct EarlierManagers {
  std::map<Guid, std::uint32_t> act_counts;  ///< by port GUID, where only one manager has it
  async::Time time{};
  std::uint32_t own_requests = 1;  ///< the requests that they have answered since: this one, and those of the rounds in between
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
/// Reads Source::managers, with `earlier` Source::activity too: at the ports with IsSM, at the SM LID of our own port, and at the LIDs in
/// the SA's SMInfoRecords, unless the SA is known not to answer. Returns their activity counts.
async::Task<EarlierManagers> read_managers(Stack& stack, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                                           bool is_sa_silent, Input& input);
async::Task<EarlierManagers> managers_now(Stack& stack, const Fabric& fabric);
/// The activity counts in the stored fabric `file`. Nothing if it has none.
async::Task<std::optional<EarlierManagers>> managers_in_file(Stack& stack, const std::string& file);

/// SMInfo of the ports that may have a subnet manager (subnet::may_have_manager()), and of `further` ones.
async::Task<subnet::Surveyed<smp::SMInfo>> survey_managers(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                                           std::vector<subnet::PortIndex> further = {});
/// Follows requests by LID that were not answered, those to a silent SA among them, through the forwarding tables of the switches on their
/// way, of which it reads the blocks that matter. What fails there is not reported: the way is then not known.
async::Task<> trace_lost_requests(Stack& stack, const Fabric& fabric, Input& input);
/// Source::pkeys: one MAD for each block of 32 P_Keys, up to the first one that holds none.
async::Task<> read_pkeys(Stack& stack, Fabric& fabric, Input& input);
/// Reads Source::pkeys of any fabric, the one of `input`. Returns what failed.
async::Task<subnet::Failures> survey_pkeys(mad::Transactor& transactor, path::Path start, Input& input);
/// The P_Keys, subnet managers and firmware that a file holds.
async::Task<BaselineTables> tables_in_file(snapshot::StoredFabric& stored);
/// Input::firmware, where the baseline of `input` has it: of a snapshot whatever it holds, of a live fabric that of the nodes of which the
/// baseline knows it, by one GMP each.
async::Task<> read_firmware(Stack& stack, Fabric& fabric, Extent& extent, Input& input);
/// The multicast groups of the SA, which two sources need. They are read once.
struct GroupRecords {
  bool has_read{};
  std::vector<sa::MCMemberRecord> records;
  std::string why;  ///< the reason why there are none
};
/// Source::groups: one request to the SA, unless the SA is known not to answer.
async::Task<> read_broadcast_groups(Stack& stack, bool is_sa_silent, GroupRecords& known, Input& input);
/// Source::routes: the linear and multicast forwarding tables of all switches, the members of groups as far as the SA names them, and the
/// SLtoVL mapping tables of ports that can wait for each other in a circle.
async::Task<> read_routes(Stack& stack, Fabric& fabric, const HealthRequest& wanted, bool is_sa_silent, GroupRecords& known, Input& input);

// The physical layer: registers of ports, temperatures and fans, planes, and whether ports were taken out of use. Failures of these
// requests are printed, and are no failures of the fabric: a device that is protected by a VS_Key drops them, and is well.

/// The registers of one round of --repeat, for the next one.
using LastPhy = std::shared_ptr<const phy::Reading>;

/// Reads the counters of registers, as the earlier of two readings: Input::phy_before.
async::Task<> read_phy_before(Stack& stack, const Fabric& fabric, Extent& extent, Input& input);
/// Fills the sources of the physical layer as far as checks need them. Returns the reading; null if nothing can be read.
async::Task<LastPhy> read_phy_sources(Stack& stack, const Fabric& fabric, Extent& extent, Sources needed, Input& input);

inline constexpr std::size_t most_phy_requests = 40;  // of a run without --phy

/// Reads why the ports of findings are down, their ratios and modules, the worst finding first, by at most most_phy_requests requests of
/// one try each, and adds these to the findings.
async::Task<> explain_by_phy(Stack& stack, const Fabric& fabric, Extent& extent, Input& input, Diagnosis& diagnosis);

/// Data that is kept from one round, or one run, to the next.
struct EarlierRounds {
  CounterReadings counters{};
  ManagerHistory managers{};
  std::optional<std::map<Guid, std::string>> firmware{};  ///< of the first round with a baseline, as in Input::firmware
  LastPhy phy{};                                          ///< the registers of the last round; null: there are none
  const subnet::Subnet* model{};                          ///< of the last round; null: this is the first one
  LastPhy phy_now{};                                      ///< the registers of this round
};

/// Fills the sources of `input` that the wanted checks need, sets the reason of the others, and runs the checks. Counters are those of
/// `scope`. With `earlier` each source is read once, and compared with its last reading; without it as often as is wanted. What fails is
/// added to the failures of `fabric`. Of the first round, the registers of ports with findings are read too, unless HealthRequest says
/// otherwise.
async::Task<Diagnosis> diagnose(Stack& stack, Fabric& fabric, const HealthRequest& wanted, const Scope& scope, Input& input,
                                EarlierRounds* earlier = nullptr);

// The times of readings that were kept in a file. A window that cannot be is refused: what a clock that was not set yet has written, or
// one that is set now, would make a window of decades, in which no number of errors is too great.

using WallTime = std::chrono::system_clock::time_point;

inline constexpr std::chrono::hours longest_window{24 * 365 * 10};

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
  const Baseline* compare(const subnet::Subnet& current);

 private:
  std::unique_ptr<snapshot::StoredFabric> stored_;
  BaselineTables tables_;
  std::optional<Fabric> fabric_;
  std::optional<std::int64_t> counters_time_;  ///< in milliseconds since 1970; absent: it has no counters
  std::optional<Baseline> compared_;
};

// --port local: the end port of this host and its link, without a sweep, in at most eight MADs. For schedulers, which look often and at
// many hosts: --state keeps the reading, so that the next run compares with it and waits for nothing.

inline constexpr unsigned most_mads = 8;         // of a reading
inline constexpr unsigned mads_of_counters = 3;  // ClassPortInfo of the PMA, and its counters of both widths

/// Reads the end port, and the port at the other end of its link, into `fabric`: five SMPs where nothing is lost. A request to a silent
/// neighbour has three tries, so that there are MADs left for the counters.
async::Task<> read_own_link(Session& session, Fabric& fabric);

/// What is found where nothing but this host's node can be looked at, because its end port is Down.
struct DownPort {
  Fabric own;             ///< the node, as sysfs has it
  StoredBaseline former;  ///< the fabric of --baseline, else of another file that may know what the port was linked to
  Diagnosis diagnosis;
};
DownPort examine_down_port(Stack& stack, const HealthRequest& wanted);

/// The ports whose counters are read: only the own one, because no path to the PMA of the other one is known.
Scope own_port(const subnet::Subnet& subnet);

/// The wanted checks that need one link only. Throws UsageError if there are none.
Selection local_selection(const Selection& wanted);

/// Puts the reading in the file `state` into `history`, if there is one of this port. A file that is damaged, or of another port, is
/// passed over. Returns why a reading of this port is passed over, because it is of an impossible time; else nothing. Throws as
/// read_private_file() does.
std::string load_state(const std::string& state, const subnet::Subnet& subnet, async::Loop& loop, counters::CounterHistory& history);
/// Keeps the last reading of the port. Throws as replace_private_file() does.
void save_state(const std::string& state, const subnet::Subnet& subnet, async::Loop& loop, const counters::CounterHistory& history);

}  // namespace ib::tools::health
