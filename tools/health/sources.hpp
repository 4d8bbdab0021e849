// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sources besides counters. One function reads each source: it fills its members of the input, or sets the reason why they are missing.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/clock.hpp"
#include "async/task.hpp"
#include "health/diagnosis.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Whether the file of --from, if there is one, lacks this part, which holds `what`. Then the source is excluded for that reason.
bool lacks_part(Host& host, std::string_view part, Source source, std::string_view what, Input& input);

/// Devices that were silent before, and get no further request.
using SilentDevices = std::set<subnet::NodeIndex>;

/// Has the SA give the service levels of `paths`, unless it was queried for them before.
async::Task<> read_service_levels_once(Stack& stack, subnet::PortPaths& paths);

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
  std::size_t size() const { return rounds_.size(); }

 private:
  std::deque<EarlierManagers> rounds_;
};
/// Reads Source::managers, with `earlier` Source::activity too: at the ports with IsSM, at the SM LID of our own port, and at the LIDs in
/// the SA's SMInfoRecords, unless the SA is known not to answer. Returns their activity counts.
async::Task<EarlierManagers> read_managers(Stack& stack, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                                           bool is_sa_silent, Input& input);
/// Reads the activity counts of the subnet managers.
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
/// baseline knows it, by one GMP each. `paths` gets service levels from the SA if it was not queried for them yet. Devices in `silent` get
/// no request.
async::Task<> read_firmware(Stack& stack, Fabric& fabric, const Wanted& wanted, subnet::PortPaths& paths, SilentDevices& silent,
                            Input& input);
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
async::Task<> read_routes(Stack& stack, Fabric& fabric, const Wanted& wanted, bool is_sa_silent, GroupRecords& known, Input& input);

// The physical layer: registers of ports, temperatures and fans, planes, and whether ports were taken out of use. Failures of these
// requests are printed, and are no failures of the fabric: a device that is protected by a VS_Key drops them, and is well.

/// The registers of one round of --repeat, for the next one.
using LastPhy = std::shared_ptr<const phy::Reading>;

/// Reads the counters of registers, as the earlier of two readings: Input::phy_before. Adds to `silent`.
async::Task<> read_phy_before(Stack& stack, const Fabric& fabric, const Wanted& wanted, const Scope& scope, subnet::PortPaths& paths,
                              SilentDevices& silent, Input& input);
/// Fills the sources of the physical layer as far as checks need them. Returns the reading; null if nothing can be read.
async::Task<LastPhy> read_phy_sources(Stack& stack, const Fabric& fabric, const Wanted& wanted, const Scope& scope,
                                      subnet::PortPaths& paths, Sources needed, SilentDevices& silent, Input& input);

inline constexpr std::size_t most_phy_requests = 40;  // of a run without --phy

/// Reads why the ports of findings are down, their ratios and modules, the worst finding first, by at most most_phy_requests requests of
/// one try each, and adds these to the findings.
async::Task<> explain_by_phy(Stack& stack, const Fabric& fabric, const Wanted& wanted, subnet::PortPaths& paths, Input& input,
                             Diagnosis& diagnosis);

}  // namespace ib::tools::health
