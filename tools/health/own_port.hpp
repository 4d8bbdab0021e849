// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --port local: the end port of this host and its link, without a sweep, in at most eight MADs. For schedulers, which look often and at
// many hosts: --state keeps the reading, so that the next run compares with it and waits for nothing.
#pragma once

#include <string>

#include "async/task.hpp"
#include "counters/history.hpp"
#include "health/diagnosis.hpp"
#include "health/scope.hpp"
#include "tools/health/stored_baseline.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

inline constexpr unsigned most_mads = 8;         // of a reading
inline constexpr unsigned mads_of_counters = 3;  // ClassPortInfo of the PMA, and its counters of both widths

/// Reads the end port, and the port at the other end of its link, into `fabric`: five SMPs where nothing is lost. A request to a silent
/// neighbour has three tries, so that there are MADs left for the counters.
async::Task<> read_own_link(Session& session, Fabric& fabric);

/// This host's node, as sysfs has it, for an end port that is Down.
Fabric own_node(Stack& stack);
/// The fabric that may have what that port was linked to: the one of --baseline, else another file that knows the port.
StoredBaseline former_fabric(Stack& stack, const Wanted& wanted);
/// What is found where nothing but that node can be looked at. `former` may have what the port was linked to.
Diagnosis examine_down_port(Stack& stack, const Fabric& own, const Wanted& wanted, StoredBaseline& former);

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
