// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the counters of a whole fabric, attribute by attribute as the PMAs answer them. It finds the ports that have counted errors with as
// few MADs as possible. The ClassPortInfo of each PMA is requested first. A PMA with AllPortSelect (IBA 16.1.3.1) then gets one request for
// the sum of all its ports. Its ports are read one by one only if this sum is worth a report (PmaWanted::is_reported). The ports of other
// PMAs are read one by one.
//
// Counters can also be cleared: each port right after it was read, so that few counts in between are lost. A port whose counters could not
// be read is not cleared: one Set for all ports of a node is sent only where all of them were read (all_ports_read()).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "async/clock.hpp"
#include "counters/clears.hpp"
#include "counters/counters.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"

namespace ib::counters {

/// A request to a PMA that failed.
struct PmaProblem {
  std::uint16_t attribute{};                     ///< the attribute of the Get or Set
  bool set{};                                    ///< the request was a Set
  std::shared_ptr<const mad::MadError> error{};  ///< null: no GMP reaches the PMA
  bool whose{};                                  ///< the counters were read, and whose they are is not known (counters/owner.hpp)
};

/// The counters of one port, or the sums of all ports of a node.
struct PmaReading {
  subnet::PortIndex port = subnet::none;                     ///< of all ports together: the port whose PMA was read
  std::uint8_t select{};                                     ///< PortSelect: the number of the port, or all_ports
  PmaSupport support;                                        ///< of its PMA; empty if the PMA did not answer
  std::vector<std::uint8_t> counters, extended;              ///< PortCounters, PortCountersExtended; empty where they were not read
  std::vector<std::uint8_t> discard_details, error_details;  ///< PortXmitDiscardDetails, PortRcvErrorDetails
  std::vector<std::uint8_t> speeds;                          ///< PortExtendedSpeedsCounters in the layout `speeds_info`
  const StructInfo* speeds_info{};
  async::Time counters_time{}, extended_time{};  ///< when `counters` and `extended` came
  std::vector<PmaProblem> problems;              ///< in their order; after a Get of counters has failed, the reading ends

  /// Whether counters were read.
  bool known() const { return !counters.empty() || !extended.empty(); }
  /// Whether PortCountersExtended holds the counters of errors: its additional part was read.
  bool errors_in_extended() const;
  /// All counters together, each from the widest attribute that was read.
  CounterReading merged() const { return merge_counters(support, counters, extended); }
  /// A counter from the attribute that holds errors (errors_in_extended()).
  CounterValue error_count(const CounterInfo& counter) const;
  /// When the attribute came from which error_count() takes counters.
  async::Time error_time() const;
  /// A counter of data or packets from the widest attribute that was read.
  CounterValue traffic_count(const CounterInfo& counter) const;
};

/// The counters of a node.
struct PmaNode {
  subnet::NodeIndex node = subnet::none;
  subnet::PortIndex first = subnet::none;  ///< the port whose PMA got the request for ClassPortInfo
  PmaSupport support;                      ///< of that PMA; empty if the PMA did not answer
  std::optional<PmaProblem> problem;       ///< of ClassPortInfo
  std::optional<PmaReading> all;           ///< of all ports together
  std::vector<PmaReading> ports;           ///< those that were read one by one, by number
  std::vector<PmaProblem> clear_problems;  ///< of the one Set for all ports
};

/// The counters to read and to clear.
struct PmaWanted {
  /// Counters of data too: PortCountersExtended where the PMA has it.
  bool traffic{};
  /// Only counters of data, from the attribute with the widest fields.
  bool traffic_only{};
  /// Each port is read, whatever the sum of all ports of the node is.
  bool each_port{};
  /// Every port of a CA or router is read.
  bool each_host_port{};
  /// The ports of a node that are read, by number. Null: countable_ports(). A node without any is passed over.
  std::function<std::vector<subnet::PortIndex>(subnet::NodeIndex)> ports_of;
  /// The capabilities of a node's PMA, if they are known: its ClassPortInfo is then not requested. Null: not known.
  std::function<std::optional<PmaSupport>(subnet::NodeIndex)> known_support;
  /// Whether a reading is worth a report. If the reading is the sum of all ports of a node, the ports are then read one by one. Null:
  /// never.
  std::function<bool(const PmaReading&)> is_reported;
  /// Whether these details are read for a reading that is worth a report (`is_reported`). Null: never.
  std::function<bool(const PmaReading&)> wants_discard_details, wants_error_details;
  /// The layout in which PortExtendedSpeedsCounters is read for a reading that is worth a report (`is_reported`). If this is null, or
  /// returns null, the attribute is not read.
  std::function<const StructInfo*(const PmaReading&)> speeds_layout;
  /// Requests who is at the LIDs at which counters were read (counters/owner.hpp). Counters of a LID whose node is not the one of the model
  /// are not read: a reading then has the error as its last problem. Null: this is not requested, because counters are read once, right
  /// after a sweep, or come from a stored fabric. Not together with `clear`.
  mad::Transactor* owners{};
  /// Takes the answer of a PMA also if it is for another PortSelect than the requested one, as infiniband-diags does.
  bool takes_any_select{};
  /// The counters that are cleared after they were read. Null: none.
  CounterChoice clear;
  bool clear_details{};  ///< PortXmitDiscardDetails and PortRcvErrorDetails with them
  /// Called with each node in the order of the nodes, as soon as this node and all nodes before it are finished. Null: not called.
  std::function<void(const PmaNode&)> on_node;
  /// The reading of a node is freed after `on_node` was called with it: PmaReadings::nodes remains empty. For large fabrics.
  bool forgets{};
};

struct PmaReadings {
  std::vector<PmaNode> nodes;             ///< in the order of the argument `nodes`; empty with PmaWanted::forgets
  std::vector<subnet::Failure> failures;  ///< one for each silent agent and for each refused request
  std::vector<subnet::NodeIndex> moved;   ///< nodes whose LID another node has now (PmaWanted::owners)
};

/// The layout of PortExtendedSpeedsCounters of a port whose link has that FEC mode. Null if its PMA does not say that it has the attribute.
const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode);

/// The ports of a node whose counters can be read by GMPs: those that are known to exist. Port 0 of a switch only if it is an enhanced one.
std::vector<subnet::PortIndex> countable_ports(const subnet::Subnet& subnet, subnet::NodeIndex node);

/// Whether all counters of a node were read: those of all ports together, or those of each port that it has (NumPorts), also of a port that
/// `subnet` does not know.
bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node);

/// Reads the counters of one PortSelect of the PMA at `pma`, which supports `support`: only the attributes that `wanted` names. Clears
/// nothing. The request that failed, if any, is the last of the problems.
async::Task<PmaReading> read_pma(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                 const PmaWanted& wanted);

/// Reads, and clears, as `wanted` says. `options.way` is gmp. `subnet` must outlive the task and not grow meanwhile.
async::Task<PmaReadings> read_pmas(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<subnet::NodeIndex> nodes,
                                   PmaWanted wanted, subnet::SurveyOptions options);

}  // namespace ib::counters
