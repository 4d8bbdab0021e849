// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the programs of infiniband-diags print with -d of a sweep. libibnetdisc tells each request and each answer on stdout.
#pragma once

#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// Writes these lines, if the user asked for them by -d, for the sweep of a whole fabric. They are those of a sweep that gets the answers
/// in the order of its requests. Where libibnetdisc prints addresses of its memory, numbers of nodes and ports stand.
void trace_sweep(const Session& session, const Fabric& fabric, TextOut& out);

}  // namespace ib::tools
