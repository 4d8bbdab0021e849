// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The output of the programs of infiniband-diags with -d for a sweep: libibnetdisc prints each request and each answer on stdout.
// Also what it prints on stderr, with and without -d, of a node that it finds twice.
#pragma once

#include "path/path.hpp"
#include "subnet/order.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// Writes these lines for a sweep that begins at this host. They are the lines of a sweep whose answers arrive in the order of its
/// requests. Numbers of nodes and ports replace the memory addresses that libibnetdisc prints. Returns the sweep.
subnet::LegacySweep trace_sweep(const Fabric& fabric, TextOut& out, subnet::LegacyScan scan);
/// Writes these lines for a sweep that begins at the end of `start` and goes as far as `scan` says, LegacyScan::start_hops being the length
/// of `start`. Precondition: `fabric` has what that sweep reads. Returns the sweep.
subnet::LegacySweep trace_sweep(const Fabric& fabric, TextOut& out, const path::IbDrPath& start, subnet::LegacyScan scan);
/// Writes the first two lines of trace_sweep(), for a sweep that gets no answer at `start`.
void trace_silence(TextOut& out, const path::IbDrPath& start);
/// Prints on stderr what libibnetdisc prints where it finds the first node of a sweep, an end node, once more: it begins at the end of a
/// directed route of `hops` hops, goes back to the switch before it, and from there to all ports but the one by which its requests come.
/// `end` is the NodeInfo of that node.
void libibnetdisc_found_again(Session& session, const smp::NodeInfo& end, unsigned hops);

}  // namespace ib::tools
