// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counters of a whole fabric, attribute by attribute as the PMAs gave them, with the fewest MADs that answer one question: which
// ports have counted errors? Each PMA is asked for its ClassPortInfo. One that has AllPortSelect (IBA 16.1.3.1) is asked for all of its
// ports in one; only where that sum holds something worth telling are its ports asked one by one. Others are asked port by port.
//
// In the same go counters can be set to zero: each port right after its reading, so that little is lost that came in between. A port that
// did not tell its counters keeps them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "counters/clears.hpp"
#include "counters/counters.hpp"
#include "counters/history.hpp"
#include "iba-gen/pm.hpp"

namespace ib::counters {

/// A request to a PMA that brought nothing.
struct PmaProblem {
  std::uint16_t attribute{};                     ///< that was asked for, or set
  bool set{};                                    ///< it was a Set
  std::shared_ptr<const mad::MadError> error{};  ///< null: no GMP reaches the PMA
};

/// What one port has counted, or all ports of a node together.
struct PmaReading {
  subnet::PortIndex port = subnet::none;                     ///< of all ports together: the port whose PMA was asked
  std::uint8_t select{};                                     ///< PortSelect: the number of the port, or all_ports
  PmaSupport support;                                        ///< of its PMA; nothing where that did not tell
  std::vector<std::uint8_t> counters, extended;              ///< PortCounters, PortCountersExtended; empty where they were not read
  std::vector<std::uint8_t> discard_details, error_details;  ///< PortXmitDiscardDetails, PortRcvErrorDetails
  std::vector<std::uint8_t> speeds;                          ///< PortExtendedSpeedsCounters in the layout `speeds_info`
  const StructInfo* speeds_info{};
  async::Time counters_time{}, extended_time{};  ///< when `counters` and `extended` came
  std::vector<PmaProblem> problems;              ///< in their order; one of reading counters is the last of a reading

  /// The counters were read, as far as they were asked for.
  bool known() const { return !counters.empty() || !extended.empty(); }
  /// Whether PortCountersExtended holds the counters of errors: its additional part was read.
  bool errors_in_extended() const;
  /// All counters together, each from the widest attribute that was read.
  CounterReading merged() const { return merge_counters(support, counters, extended); }
  /// A counter from the attribute that holds errors (errors_in_extended()).
  CounterValue error_count(const CounterInfo& counter) const;
  /// When the attribute came from which error_count() and traffic_count() take counters.
  async::Time error_time() const;
  async::Time traffic_time() const { return extended.empty() ? counters_time : extended_time; }
  /// A counter of data or packets from the widest attribute that was read.
  CounterValue traffic_count(const CounterInfo& counter) const;
};

/// What a node has counted.
struct PmaNode {
  subnet::NodeIndex node = subnet::none;
  subnet::PortIndex first = subnet::none;  ///< the port whose PMA was asked for ClassPortInfo
  PmaSupport support;                      ///< of that PMA; nothing where it did not tell
  std::optional<PmaProblem> problem;       ///< of ClassPortInfo
  std::optional<PmaReading> all;           ///< of all ports together
  std::vector<PmaReading> ports;           ///< those that were read one by one, by number
  std::vector<PmaProblem> clear_problems;  ///< of the one Set for all ports
};

/// What is to be read, and cleared.
struct PmaWanted {
  /// Counters of data too: PortCountersExtended where there is one.
  bool traffic{};
  /// Nothing but counters of data, from the widest attribute.
  bool traffic_only{};
  /// Each port is asked, whatever all of them together have counted.
  bool each_port{};
  /// Every port of a CA or router is read.
  bool each_host_port{};
  /// The ports of a node that are read, by number. Null: countable_ports(). A node without any is passed over.
  std::function<std::vector<subnet::PortIndex>(subnet::NodeIndex)> ports_of;
  /// What is known of a node's PMA already: it is not asked for ClassPortInfo. Null: nothing.
  std::function<std::optional<PmaSupport>(subnet::NodeIndex)> known_support;
  /// Whether a reading has something to tell: then the ports of its node are asked one by one. Null: never.
  std::function<bool(const PmaReading&)> tells;
  /// Which details are to be read with a reading that tells; null: none.
  std::function<bool(const PmaReading&)> wants_discard_details, wants_error_details;
  /// The layout in which PortExtendedSpeedsCounters is to be read with a reading that tells; null, or one that returns null: not at all.
  std::function<const StructInfo*(const PmaReading&)> speeds_layout;
  /// Which counters are cleared after they were read; null: none.
  CounterChoice clear;
  bool clear_details{};  ///< PortXmitDiscardDetails and PortRcvErrorDetails with them
  /// Called with each node in their order, as soon as all is known of it and of those before it. Null: nobody is told.
  std::function<void(const PmaNode&)> told;
  /// Nodes are forgotten when `told` has been called with them: PmaReadings::nodes remains empty. For large fabrics.
  bool forgets{};
};

struct PmaReadings {
  std::vector<PmaNode> nodes;             ///< in the order in which they were named; none with PmaWanted::forgets
  std::vector<subnet::Failure> failures;  ///< one for each agent that is silent, or request that was refused
};

/// What a port has counted between two readings, each counter in the attribute from which PmaReading takes it.
struct PmaGrowth {
  std::optional<CounterGrowth> counters, extended;  ///< of PortCounters and PortCountersExtended; absent without a reading before
  std::optional<CounterGrowth> discard_details, error_details;  ///< the same of what PmaReading has of these
  std::optional<CounterGrowth> speeds;                          ///< the same of PortExtendedSpeedsCounters
  bool errors_in_extended{};                                    ///< PortCountersExtended holds the errors
  PmaSupport support;

  /// Whether there is a reading before.
  bool known() const { return counters || extended; }
  /// As PmaReading::error_count() and traffic_count().
  CounterChange error_change(const CounterInfo& counter) const;
  CounterChange traffic_change(const CounterInfo& counter) const;
  /// The seconds between the readings of error_change(), and of traffic_change(); absent if not known.
  std::optional<double> error_seconds() const;
  std::optional<double> traffic_seconds() const;
};

/// Keeps a known reading in `history`, and compares it with the one before. `octets_per_second` as in CounterGrowth.
PmaGrowth take(CounterHistory& history, const CounterKey& key, const PmaReading& reading, std::optional<double> octets_per_second = {});

/// The ports of a node that GMPs can be asked about: those that are known to be there, port 0 of a switch if that is an enhanced one.
std::vector<subnet::PortIndex> countable_ports(const subnet::Subnet& subnet, subnet::NodeIndex node);

/// Reads the counters of one PortSelect of the PMA at `pma`, which supports `support`: the attributes that `wanted` asks for, and nothing
/// more. Clears nothing. What failed is the last of the problems.
async::Task<PmaReading> read_pma(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                 const PmaWanted& wanted);

/// Reads, and clears, as `wanted` says. `options.way` is gmp. `subnet` must outlive the task and not grow meanwhile.
async::Task<PmaReadings> read_pmas(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<subnet::NodeIndex> nodes,
                                   PmaWanted wanted, subnet::SurveyOptions options);

}  // namespace ib::counters
