// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The output of the programs of infiniband-diags with -d for a sweep: libibnetdisc prints each request and each answer on stdout.
#pragma once

#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// With -d, writes these lines for the sweep of a whole fabric. They are the lines of a sweep whose answers arrive in the order of its
/// requests. Numbers of nodes and ports replace the memory addresses that libibnetdisc prints.
void trace_sweep(const Session& session, const Fabric& fabric, TextOut& out);

}  // namespace ib::tools
