// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sources besides counters. One function reads each source: it fills its members of the input, or sets the reason why they are missing.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "async/clock.hpp"
#include "async/task.hpp"
#include "health/input.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Marks a source as excluded, or as not answered.
void skip(ib::health::Input& input, ib::health::Source source, std::string reason);
void not_read(ib::health::Input& input, ib::health::Source source, std::string reason);

/// Has the SA give the service levels of `paths`, unless it was queried for them before.
async::Task<> read_service_levels_once(Session& session, subnet::PortPaths& paths);

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
async::Task<EarlierManagers> read_managers(Session& session, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                                           bool is_sa_silent, ib::health::Input& input);
/// Reads the activity counts of the subnet managers.
async::Task<EarlierManagers> managers_now(Session& session, const Fabric& fabric);
/// The activity counts in the stored fabric `file`. Nothing if it has none.
async::Task<std::optional<EarlierManagers>> managers_in_file(Session& session, const std::string& file);

/// SMInfo of the ports that may have a subnet manager (subnet::may_have_manager()), and of `further` ones.
async::Task<subnet::Surveyed<smp::SMInfo>> survey_managers(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                                           std::vector<subnet::PortIndex> further = {});
/// Follows requests by LID that were not answered, those to a silent SA among them, through the forwarding tables of the switches on their
/// way, of which it reads the blocks that matter. What fails there is not reported: the way is then not known.
async::Task<> trace_lost_requests(Session& session, const Fabric& fabric, ib::health::Input& input);
/// Source::pkeys: one MAD for each block of 32 P_Keys, up to the first one that holds none.
async::Task<> read_pkeys(Session& session, Fabric& fabric, ib::health::Input& input);
/// Reads Source::pkeys of any fabric, the one of `input`. Returns what failed.
async::Task<subnet::Failures> survey_pkeys(mad::Transactor& transactor, path::Path start, ib::health::Input& input);
/// The P_Keys, subnet managers and firmware that a file holds.
async::Task<ib::health::BaselineTables> tables_in_file(snapshot::StoredFabric& stored);
/// Input::firmware, where the baseline of `input` has it: of a snapshot whatever it holds, of a live fabric that of the nodes of which the
/// baseline knows it, by one GMP each. `paths` gets service levels from the SA if it was not queried for them yet.
async::Task<> read_firmware(Session& session, Fabric& fabric, subnet::PortPaths& paths, ib::health::Input& input);
/// The multicast groups of the SA, which two sources need. They are read once.
struct GroupRecords {
  bool has_asked{};
  std::vector<sa::MCMemberRecord> records;
  std::string why;  ///< the reason why there are none
};
/// Source::groups: one request to the SA, unless the SA is known not to answer.
async::Task<> read_broadcast_groups(Session& session, bool is_sa_silent, GroupRecords& known, ib::health::Input& input);
/// Source::routes: the linear and multicast forwarding tables of all switches, the members of groups as far as the SA names them, and the
/// SLtoVL mapping tables of ports that can wait for each other in a circle.
async::Task<> read_routes(Session& session, Fabric& fabric, const Wanted& wanted, bool is_sa_silent, GroupRecords& known,
                          ib::health::Input& input);

}  // namespace ib::tools::health
