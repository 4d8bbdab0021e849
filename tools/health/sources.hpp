// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sources beside counters, each read by one function: it fills its members of the input, or says why they are not there.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "async/clock.hpp"
#include "async/task.hpp"
#include "health/input.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Says that a source is ruled out, or did not answer.
void skip(ib::health::Input& input, ib::health::Source source, std::string reason);
void not_read(ib::health::Input& input, ib::health::Source source, std::string reason);

/// What subnet managers had done at an earlier time.
struct EarlierManagers {
  std::map<Guid, std::uint32_t> act_counts;  ///< by port GUID
  async::Time time{};
};
/// Reads Source::managers, with `earlier` Source::activity too.
async::Task<> read_managers(Session& session, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                            ib::health::Input& input);
/// The subnet managers now, and those in the snapshot of --since; nothing where it has none.
async::Task<EarlierManagers> managers_now(Session& session, const Fabric& fabric);
async::Task<std::optional<EarlierManagers>> managers_in_snapshot(Session& session, const std::string& file);

/// Source::pkeys: one MAD for each block of 32 P_Keys, up to the first one that holds none.
async::Task<> read_pkeys(Session& session, Fabric& fabric, ib::health::Input& input);
/// Source::groups: one request to the SA.
async::Task<> read_broadcast_groups(Session& session, ib::health::Input& input);
/// Source::routes: the linear forwarding tables of all switches.
async::Task<> read_routes(Session& session, Fabric& fabric, bool is_wanted, ib::health::Input& input);

}  // namespace ib::tools::health
