// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the counters of a whole fabric, attribute by attribute as the PMAs answer them. It finds the ports that have counted errors with as
// few MADs as possible. The ClassPortInfo of each PMA is requested first. A PMA with AllPortSelect (IBA 16.1.3.1) then gets one request for
// the sum of all its ports. Its ports are read one by one only if this sum is worth a report (ReadingPlan::further). The ports of
// other PMAs are read one by one.
//
// Counters can also be cleared: each port right after it was read, so that few counts in between are lost. A port whose counters could not
// be read is not cleared: one Set for all ports of a node is sent only where all of them were read (all_ports_read()). Or they are cleared
// unread (ReadingPlan::Counts::none): one Set clears all external ports of a switch, if all are wanted and its PMA has AllPortSelect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/difference.hpp"
#include "counters/row.hpp"
#include "iba-gen/smp.hpp"
#include "iba/types.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::counters {

struct PmaProblem {
  std::uint16_t attribute{};                     ///< the attribute of the Get or Set
  bool set{};                                    ///< the request was a Set
  std::shared_ptr<const mad::MadError> error{};  ///< null: no GMP reaches the PMA
  bool whose{};                                  ///< the counters were read, and whose they are is not known
};

/// The counters of one port, or the sums of all ports of a node.
struct PmaReading {
  PortIndex port = subnet::none;       ///< of all ports together: the port whose PMA was read
  std::uint8_t select{};               ///< PortSelect: the number of the port, or all_ports
  PmaSupport support{};                ///< of its PMA; empty if the PMA did not answer
  CounterRow row{};                    ///< nothing is known of it where counters were not read
  std::vector<PmaProblem> problems{};  ///< in their order; after a Get of counters has failed, the reading ends

  bool known() const { return has_basic() || has_extended(); }
  bool has_basic() const { return (row.known & CounterRow::all_counters & ~std::uint64_t{row.wide}) != 0; }
  bool has_extended() const { return row.wide != 0; }
};

struct PmaNode {
  NodeIndex node = subnet::none;
  PortIndex first = subnet::none;            ///< the port whose PMA got the request for ClassPortInfo
  std::optional<async::Time> begun{};        ///< when the first request was sent
  PmaSupport support{};                      ///< of that PMA; empty if the PMA did not answer
  std::optional<PmaProblem> problem{};       ///< of ClassPortInfo
  std::optional<PmaReading> all{};           ///< of all ports together
  std::vector<PmaReading> ports{};           ///< those that were read one by one, by number
  std::vector<PmaProblem> clear_problems{};  ///< of the one Set for all ports

  /// Whether counters were read, of one port or of all ports together.
  bool any_read() const { return (all && all->known()) || std::ranges::any_of(ports, &PmaReading::known); }
};

/// What is read after the counters of a port, or after the sum of all ports of a node.
struct Further {
  bool ports{};                             ///< of a sum: each port
  bool discard_details{}, error_details{};  ///< PortXmitDiscardDetails, PortRcvErrorDetails
  const StructInfo* speeds{};               ///< PortExtendedSpeedsCounters in this layout; null: it is not read
};

struct ReadingPlan {
  enum class Counts : std::uint8_t {
    errors,
    all,      ///< errors, and data and packets: PortCountersExtended where the PMA has it
    traffic,  ///< only data and packets, from the attribute with the widest fields
    none,     ///< counters are cleared unread; an end port of a node that is not a switch by its own PMA
  };
  Counts counts = Counts::errors;
  enum class Ports : std::uint8_t {
    summed,    ///< the sum of all ports of a node, where its PMA has AllPortSelect, and its ports if `further` wants them; else each port
    of_hosts,  ///< each port of a CA or router; of a switch as above
    each,
  };
  Ports ports = Ports::summed;
  /// The ports of a node that are read, by number. Null: countable_ports(). A node without any is passed over.
  std::function<std::vector<PortIndex>(NodeIndex)> ports_of{};
  std::function<Further(const PmaReading&)> further{};
  /// The counters that are cleared after they were read, or unread with Counts::none. Null: none.
  CounterChoice clear{};
  bool clear_details{};  ///< PortXmitDiscardDetails and PortRcvErrorDetails with them
  /// The capabilities of PMAs that are known, whose ClassPortInfo is not requested; gets those that answer. Null: none is known.
  KnownPmas* pmas{};
  /// Requests who is at the LIDs at which counters were read. Counters of a LID whose node is not the one of the model
  /// are not read: a reading then has the error as its last problem. Null: this is not requested, because counters are read once, right
  /// after a sweep, or come from a stored fabric. Not together with `clear`: there the NodeInfo that is requested before each Set says it.
  mad::Transactor* owners{};
  /// Takes the answer of a PMA also if it is for another PortSelect than the requested one, as infiniband-diags does.
  bool takes_any_select{};
  /// Takes each node in the order of the nodes, as soon as this node and all nodes before it are finished. Null: PmaReadings::nodes gets
  /// them.
  std::function<void(PmaNode)> on_node{};
};

struct PmaReadings {
  std::vector<PmaNode> nodes;             ///< in the order of the argument `nodes`; empty with ReadingPlan::on_node
  std::vector<subnet::Failure> failures;  ///< one for each silent agent and for each refused request
  std::vector<NodeIndex> moved;           ///< nodes whose LID another node has now (ReadingPlan::owners)
};

/// The layout of PortExtendedSpeedsCounters of a port whose link has that FEC mode. Null if its PMA does not say that it has the attribute.
const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode);

/// The ports of a node whose counters can be read by GMPs: those that are known to exist. Port 0 of a switch only if it is an enhanced one.
std::vector<PortIndex> countable_ports(const subnet::Subnet& subnet, NodeIndex node);

/// Whether all counters of a node were read: all ports together, or each port that it has (NumPorts), also a port that `subnet` does not
/// know.
bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node);

/// The number of ports of a node whose counters were not read. Of a switch that has more ports than `subnet` knows, these are among them.
std::size_t unread_ports(const subnet::Subnet& subnet, const PmaNode& node);

/// Requests an attribute of one PortSelect. An answer for another PortSelect is an error, unless `takes_any_select`.
async::Task<mad::Result<mad::Reply>> request_counters(mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute,
                                                      std::uint8_t select, bool takes_any_select);

/// The reason of a problem as one line for people.
std::shared_ptr<const Error> why_not(const PmaProblem& problem);

/// Reads the counters of one PortSelect of the PMA at `pma`, which supports `support`: the attributes of `plan`. Clears
/// nothing. The request that failed, if any, is the last of the problems.
async::Task<PmaReading> read_pma(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                 const ReadingPlan& plan);

/// Reads the counters of one PortSelect of the PMA at `pma` with as few requests as possible: with Counts::all or Counts::traffic from the
/// attribute with the widest fields, with Counts::errors from PortCounters only. ClassPortInfo is requested only where the answer depends
/// on it. all_ports is for a switch with `num_ports` ports: if its PMA lacks AllPortSelect, all ports are read and summed up.
async::Task<mad::Result<CounterRow>> read_row(mad::Transactor& transactor, path::Path pma, std::uint8_t select, unsigned num_ports,
                                              ReadingPlan::Counts counts);

// One attribute of counters, whole, of ports of one PMA. A CounterRow does not hold it: it has the selectors of one of twenty attributes,
// and its counters by VL, SL and lane.

/// The attribute of one port, or the sum of several (port 255).
struct PortReading {
  std::int32_t port{};                           ///< its lowest byte is the PortSelect of the request
  std::vector<std::uint8_t> bytes;               ///< as many as the structure has
  async::Time time{};                            ///< when they came; of several ports: the last of them
  std::shared_ptr<const mad::MadError> error{};  ///< of a request that failed: `bytes` are zeros then
};

/// Reads `attribute` of each of `ports` from the PMA at `pma`. Answers for another PortSelect are taken too.
async::Task<std::vector<PortReading>> read_ports(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                 std::vector<std::int32_t> ports);

/// One reading in the place of `ports`, of which there is one at least: each counter is the sum, or the greatest value of its field.
PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& attribute);

/// Calls `use(field, index)` for each counter of the attribute. The index is 0 for a field that is not an array.
template <class Use>
void each_counter(const StructInfo& attribute, Use use) {
  for (const FieldInfo& field : attribute.fields) {
    for (std::uint32_t index = 0; !is_selector(field) && index < std::max<std::uint32_t>(field.count, 1); ++index) use(field, index);
  }
}

/// The seconds between two readings; absent if there is no earlier one, or if they are not known.
std::optional<double> seconds_between(const std::optional<PortReading>& before, const PortReading& now);
/// What a counter has counted between two readings; without an earlier one, only what it holds now.
CounterChange change_of(const std::optional<PortReading>& before, const PortReading& now, const FieldInfo& counter, std::uint32_t index);

/// Reads, and clears, as `plan` says. `options.way` is gmp. `subnet` must outlive the task and not grow meanwhile.
async::Task<PmaReadings> read_pmas(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<NodeIndex> nodes,
                                   ReadingPlan plan, subnet::SurveyOptions options);

// Clears (IBA 16.1.3.5): a Set of an attribute of counters with a reset mask that selects the counters. Bits 0…15 of a reset mask are the
// bits of CounterSelect, the bits from 16 on the bits of CounterSelect2.

/// Clears the counters in `mask` of port `number` (or all_ports) in one attribute of performance management. Bits that the
/// attribute has no room for are ignored. PortExtendedSpeedsCounters has 64 bits in CounterSelect.
async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask);

/// The reset masks of the selected counters that a PMA supports. 0: no such counters. A counter that the PMA has in both attributes is in
/// both.
struct CounterClear {
  std::uint64_t port_counters{}, port_counters_extended{};
};
CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice);

/// Clears what `plan`, which clears, says of one PortSelect: a port, or all ports. `read` are the readings of these ports. An attribute
/// that was not read is read first, and is not cleared if that fails; unless the plan reads nothing. Returns the failed requests.
async::Task<std::vector<PmaProblem>> clear_counters(subnet::SurveyPort port, std::uint8_t select, PmaSupport support,
                                                    const ReadingPlan& plan, std::span<const PmaReading> read);

struct ClearedEndPorts {
  std::map<PortIndex, std::shared_ptr<const Error>> reasons;  ///< why an end port was not cleared
  std::vector<subnet::Failure> failures;
};
/// Clears counters of end ports unread; of a switch the counters of all its ports. `options.way` is gmp. `subnet` must outlive the task.
async::Task<ClearedEndPorts> clear_end_ports(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ends,
                                             CounterChoice choice, subnet::SurveyOptions options);

// The owner of counters. A PMA is requested at a LID, and its answer names no node. LIDs change hands: the subnet manager assigns them
// again, and cables are moved. A reading therefore belongs to a node only if the node at the LID said so in the same round. It is requested
// after the counters, by the same LID: one SMP for each end port. Without that answer the counters are not read, whatever the PMA answered.

struct Owner {
  Guid node;
  std::uint8_t port{};  ///< of a channel adapter or a router; 0: all ports share the LID, as of a switch
  bool operator==(const Owner&) const = default;
};

Owner owner_of(const subnet::Subnet& subnet, PortIndex port);
/// The owner of the LID at which a node has answered with this NodeInfo.
Owner owner_of(const smp::NodeInfo& info);

/// Requests the NodeInfo of the node at the LID of `pma`, the path to a PMA. `smps` must send SMPs to the node itself, and must not answer
/// from a cache. Returns null if that node is `owner`, else subnet::WrongNode or the error of the request.
async::Task<std::shared_ptr<const mad::MadError>> check_owner(mad::Transactor& smps, path::Path pma, Owner owner);

/// Whether a Set was not sent because of the NodeInfo that is requested before it (subnet/set/set_target.hpp): of another node, or not
/// answered. Null: no error.
bool is_of_identity(const mad::MadError* error);
/// The reason why counters were not read, from an error of check_owner(): "LID 5 belongs to 0000:0000:0000:0300 now".
std::string why_not_read(const mad::MadError& error);

}  // namespace ib::counters
