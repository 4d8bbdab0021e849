// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sources of the physical layer: registers of ports, temperatures and fans, planes, and whether ports were taken out of use. Failures
// of these requests are printed, and are no failures of the fabric: a device that is protected by a VS_Key drops them, and is well.
#pragma once

#include <memory>
#include <set>

#include "async/task.hpp"
#include "health/diagnosis.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::health {

/// The registers of one round of --repeat, for the next one.
using LastPhy = std::shared_ptr<const phy::Reading>;

/// Devices that were silent before, and get no further request.
using SilentDevices = std::set<subnet::NodeIndex>;

/// Reads the counters of registers, as the earlier of two readings: Input::phy_before. Adds to `silent`.
async::Task<> read_phy_before(Session& session, const Fabric& fabric, const ib::health::Scope& scope, subnet::PortPaths& paths,
                              SilentDevices& silent, ib::health::Input& input);
/// Fills the sources of the physical layer as far as checks need them. Returns the reading; null if nothing can be read.
async::Task<LastPhy> read_phy_sources(Session& session, const Fabric& fabric, const ib::health::Scope& scope, subnet::PortPaths& paths,
                                      ib::health::Sources needed, SilentDevices& silent, ib::health::Input& input);

inline constexpr std::size_t most_phy_requests = 40;  // of a run without --phy

/// Reads why the ports of findings are down, their ratios and modules, the worst finding first, by at most most_phy_requests requests of
/// one try each, and adds these to the findings.
async::Task<> explain_by_phy(Session& session, const Fabric& fabric, subnet::PortPaths& paths, ib::health::Input& input,
                             ib::health::Diagnosis& diagnosis);

}  // namespace ib::tools::health
