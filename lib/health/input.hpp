// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The input of checks. A check sends nothing: it gets a model, what its sweep could not read, and data that was read in addition. Each kind
// of data is a source. A check names the sources that it needs (health/diagnosis.hpp), and is not run if one of them is missing.
//
// To add a source: a row in Source, and a member here.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <set>
#include <utility>

#include "counters/difference.hpp"
#include "health/finding.hpp"
#include "health/hosts.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "phy/reading.hpp"
#include "subnet/diff/difference.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::health {

// The numbers that decide whether something is a finding. A file of --thresholds has lines NAME=NUMBER; empty lines and lines that begin
// with '#' are ignored. How each number was chosen stands in ibtool-health(1).

struct Thresholds {
  double error_ratio = 1e-12;      ///< errors a bit
  double warning_ratio = 1e-14;    ///< errors a bit, on links from EDR on
  double least_errors = 3;         ///< fewer errors may be chance
  double recoveries_error = 3;     ///< link recoveries in the window, at …
  double recoveries_a_minute = 5;  ///< … this rate or more
  double events = 1;               ///< of what a good link never has: flaps, uncorrectable blocks, overruns, discards, constraint errors
  double wait_ticks = 1e6;         ///< PortXmitWait a second from which a port counts as waiting
  double congestion_heads = 10;    ///< findings of congestion at most, the greatest
  double light_loss = 7;           ///< dB from one module to the other
  double lane_times = 10;          ///< how many times the raw error ratio of each other lane a lane has …
  double lane_ratio = 1e-8;        ///< … if it is this or more
};

/// Changes `thresholds` as the text of a file says. Throws UsageError for a line that is wrong; `file` is its name for messages.
void read_thresholds(std::string_view text, std::string_view file, Thresholds& thresholds);

enum class Source : std::uint8_t {
  topology,     ///< the model
  counters,     ///< one reading of the counters of ports
  window,       ///< two of them
  fec,          ///< PortInfoExtended: FEC modes
  blocks,       ///< blocks that FEC could not correct, of PortExtendedSpeedsCounters in the counts of Source::window, or of registers
  managers,     ///< SMInfo of ports with a subnet manager
  activity,     ///< two of them, far enough apart
  pkeys,        ///< P_Key tables of hosts, and of the switch ports that enforce theirs
  groups,       ///< multicast groups of the SA
  routes,       ///< what an analysis of the forwarding tables found
  baseline,     ///< a stored model of the fabric
  phy,          ///< the registers of the physical layer of ports
  environment,  ///< temperatures and fans of switches
  unhealthy,    ///< MlnxExtPortInfo: whether a port was taken out of use
  planes,       ///< the planes of ports of several planes
};
inline constexpr std::size_t source_count = 15;
inline constexpr std::array sources_of_phy{Source::phy, Source::environment, Source::unhealthy, Source::planes};

using Sources = std::bitset<source_count>;
template <class... T>
constexpr Sources needs(T... source) {
  return Sources(((1ULL << static_cast<unsigned>(source)) | ... | 0ULL));
}

using counters::ChangeKind;
using counters::CounterChange;
using counters::PortChanges;

/// What all ports whose counters were read have counted between two readings.
class CounterTable {
 public:
  explicit CounterTable(std::size_t ports) : rows_(ports, subnet::none) {}

  void add(PortChanges port) {
    rows_[port.port] = static_cast<std::uint32_t>(ports_.size());
    ports_.push_back(std::move(port));
  }
  const PortChanges* find(PortIndex port) const { return rows_[port] == subnet::none ? nullptr : &ports_[rows_[port]]; }
  /// What a counter of a port has counted; 0 where it stands still, or where that is not known.
  std::uint64_t delta(PortIndex port, std::string_view counter) const {
    const PortChanges* changes = find(port);
    return changes == nullptr ? 0 : changes->delta(counter);
  }
  std::span<const PortChanges> all() const { return ports_; }

 private:
  std::vector<std::uint32_t> rows_;  ///< in ports_, by port
  std::vector<PortChanges> ports_;
};

enum class CheckState : std::uint8_t {
  done,
  partly,    ///< it looked at what was read, which is not all that there is
  not_read,  ///< it was requested, and did not answer
  skipped,   ///< excluded by the user, the mode or the devices
};
std::string_view name(CheckState state);

struct SourceState {
  CheckState state = CheckState::done;
  std::string reason{};  ///< the reason as a phrase for people, if it is not done
  bool is_partial{};     ///< not_read, but a part was read, which checks look at
};

struct Manager {
  PortIndex port = subnet::none;
  smp::SMInfo info;
  std::optional<std::uint32_t> act_count_before;  ///< Source::activity
  /// Answers to our own requests since then, which a manager counts too (opensm for one).
  std::uint32_t own_requests = 1;
};

/// A subnet manager whose SMInfo was requested, or that is known otherwise, and did not answer.
struct SilentManager {
  PortIndex port = subnet::none;
  std::optional<smp::SMState> state;  ///< as the SA's SMInfoRecord has it
};

/// A place where requests, or the answers to them, get lost on their way by LID.
struct BrokenWay {
  Place place;                     ///< the output port that loses them, or a switch
  bool is_cable{};                 ///< the cable at the port is to be checked
  bool is_back{};                  ///< the answers get lost, not the requests
  std::string fault{};             ///< as a phrase
  std::vector<NodeIndex> nodes{};  ///< those with which nothing could be exchanged
};

/// A broadcast group of IPoIB (RFC 4391), and its members as far as they are in the model.
struct BroadcastGroup {
  Gid mgid;
  sa::Rate rate{};
  std::vector<PortIndex> members;
};

/// The data of a baseline besides its model, by port of this model. Data that it does not have is not compared.
struct BaselineTables {
  std::map<PortIndex, std::vector<std::uint16_t>> pkeys;  ///< as in Input::pkeys
  std::map<PortIndex, smp::SMInfo> managers;
  std::map<Guid, std::string> firmware;  ///< of nodes with a GUID of their own, escaped
};

struct Baseline {
  const Subnet& subnet;
  subnet::Changes changes;
  BaselineTables tables{};  ///< of `subnet`
};

struct Input {
  Input(const Subnet& of, const subnet::Failures& met, const Thresholds& limits, HostNames names = {})
      : subnet(of), failures(met), thresholds(limits), host_names(std::move(names)), counts(of.ports().size()) {
    skip(Source::baseline, "no --baseline is given");
    for (const Source of_devices : sources_of_phy) skip(of_devices, "needs --phy");
  }
  /// Fills Source::baseline. `before` must outlive this object.
  void compare_with(const Baseline& before) {
    baseline = &before;
    source(Source::baseline) = {};
  }

  const Subnet& subnet;
  const subnet::Failures& failures;  ///< of the sweep, and of all that was read after it
  const Thresholds& thresholds;
  HostNames host_names;
  std::string own_port{};  ///< the name of the own end port, "mlx5_0/1"; empty: not known
  CounterTable counts;     ///< Source::counters, Source::window
  /// The ports whose counters were to be read, and of these the ones that were to be read twice. Empty where that is not known.
  std::vector<PortIndex> counter_ports{}, window_ports{};
  /// As above, for Source::pkeys and Source::fec, and the ports of Source::fec that did not answer.
  std::vector<PortIndex> pkey_ports{}, fec_ports{};
  std::set<PortIndex> fec_unread{};
  /// Of ports without a link: the ports that they were linked to at the first reading of counters, as far as that is known.
  std::map<PortIndex, PortIndex> former_peers;
  subnet::FecModes fec_modes;            ///< Source::fec, of ports that report them
  const Baseline* baseline{};            ///< Source::baseline
  std::vector<Manager> managers;         ///< Source::managers, those that answered
  bool has_read_managers{};              ///< Source::managers was read, or its reading failed
  std::size_t silent_managers{};         ///< subnet managers that did not give SMInfo, silent ones and such that refused it
  std::vector<SilentManager> silent;     ///< of these those that did not answer at all
  bool has_manager_elsewhere{};          ///< one answered at the SM LID of the own port, which no port of the model has
  bool is_sa_silent{};                   ///< the SA at this SM LID did not answer
  std::vector<BrokenWay> broken_ways;    ///< of requests by LID that were not answered
  std::set<NodeIndex> nodes_not_traced;  ///< silent nodes of which it is not known whether the way to them is well
  /// Source::pkeys: the P_Keys of end ports, and of switch ports that enforce theirs; without invalid ones, ascending.
  std::map<PortIndex, std::vector<std::uint16_t>> pkeys;
  std::map<Guid, std::string> firmware;                 ///< of nodes, where it is known: as in BaselineTables
  std::vector<BroadcastGroup> groups;                   ///< Source::groups
  Findings route_findings;                              ///< Source::routes
  phy::Table phy;                                       ///< Source::phy, Source::environment; or of some ports, for what is found there
  phy::Table phy_before;                                ///< an earlier reading, for what was counted in between
  std::vector<PortIndex> phy_ports;                     ///< those whose registers were to be read
  phy::Planes planes;                                   ///< Source::planes: how many the ports of devices have
  std::vector<NodeIndex> environment_nodes;             ///< those whose environment was to be read
  std::map<PortIndex, mlx::UnhealthyReason> unhealthy;  ///< Source::unhealthy, of the ports that were read
  std::array<SourceState, source_count> sources{};      ///< by Source
  SourceState& source(Source of) { return sources.at(static_cast<std::size_t>(of)); }
  /// Calls use() with each port whose registers were read, and its row.
  template <class Use>
  void each_phy_row(Use use) const {
    for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
      if (const phy::PortRow* row = phy.find(at); row != nullptr) use(at, *row);
    }
  }
  /// Marks a source as excluded, or as not answered, but for a part.
  void skip(Source of, std::string reason) { source(of) = {CheckState::skipped, std::move(reason)}; }
  void not_read(Source of, std::string reason, bool is_partial = false) {
    source(of) = {CheckState::not_read, std::move(reason), is_partial};
  }
  const Subnet& subnet_of(const Place& place) const { return place.is_before ? baseline->subnet : subnet; }
  const SourceState& source(Source of) const { return sources.at(static_cast<std::size_t>(of)); }
};

/// The port that a port without a link was linked to, at the first reading of counters or in the baseline. None if that is not known, or if
/// that port has another link now.
PortIndex former_peer(const Input& input, PortIndex port);

/// The LID of the subnet manager that the port knows from which the model was read; 0 if it knows none.
inline Lid own_sm_lid(const Subnet& subnet) {
  return subnet.start == subnet::none ? Lid{} : subnet.port(subnet.start).info().master_sm_lid;
}
/// The port of the model that has this LID, or none.
PortIndex own_sm_port(const Subnet& subnet);

/// The data of a fabric besides its model, for a later fabric to be compared with.
BaselineTables tables_of(const Input& input);

/// Takes what the ports that may have a subnet manager answered, and how far Source::managers and Source::activity were read. `records`:
/// the SA's SMInfoRecords by LID, as far as they are known.
void take_managers(const subnet::SurveyedManagers& found, const std::map<Lid, smp::SMInfo>& records, Input& input);

}  // namespace ib::health
