// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The checks of health over what the exporter reads anyway: its sweep, its two last readings, and the last registers. Nothing is sent for
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/fabric.hpp"

namespace ib::tools::exporter {

/// What is found in `now`. `before` is the reading before it, on the same sweep or an earlier one; null: there was none. `managers` are
/// those of the fabric of `now`, as they were polled last; null: they were not polled. `phy` are the registers of its ports; null: they
/// were not read. Checks for which the exporter does not read enough are not done.
std::shared_ptr<const metrics::Findings> find(const metrics::Reading* before, const metrics::Reading& now,
                                              const metrics::Managers* managers, const metrics::PhyReading* phy = nullptr);

/// What is found where the own port is Down: in a fabric of one node, whose end port is `own_port`.
std::shared_ptr<const metrics::Findings> find_down_port(std::shared_ptr<const metrics::SweptFabric> own, const std::string& own_port);

/// The ports whose link went down, or retrained, between two readings, according to their counters.
std::vector<subnet::PortIndex> find_new_links(const metrics::Reading& before, const metrics::Reading& now);

/// By row of `now`: the share of time in which the port waited (PortXmitWait) between the readings; not a number where that is not known.
std::shared_ptr<const std::vector<float>> find_waits(const metrics::Reading& before, const metrics::Reading& now);

}  // namespace ib::tools::exporter
