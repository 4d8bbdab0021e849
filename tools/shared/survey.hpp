// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What commands read of many nodes or of the SA: surveys of GMP agents, SLtoVL mapping tables, multicast groups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "iba-gen/sa.hpp"
#include "routing/channels.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::tools {

class Stack;

/// The options of a survey by GMPs for a command. It uses `paths`, which must outlive the survey, and reports its progress in ports.
subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths);
/// Finds out whose counters are read (ReadingPlan::owners), past caches; with --sa the SA says who has a LID. Null with --from.
mad::Transactor* owner_transactor(Stack& stack);
/// That Transactor for a single reading of nodes of a file, which may have other LIDs by now; null for a fabric that was just read.
mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache);

/// Reads the SLtoVL mapping tables of `ports` into `lanes`. Returns what failed. `network` and `lanes` must outlive the task.
async::Task<subnet::Failures> read_lanes(Stack& stack, const routing::Network& network, std::vector<routing::WantedLanes> ports,
                                         routing::SlToVlTables& lanes);

/// All MCMemberRecords of the SA. Empty without an SA or a whole table, for the reason `why`. Throws SysError.
async::Task<std::vector<sa::MCMemberRecord>> read_group_records(Stack& stack, std::string& why);

}  // namespace ib::tools
