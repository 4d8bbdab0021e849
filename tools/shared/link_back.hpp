// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one link that libibnetdisc tries beyond its bound, where it leads back to this host.
#pragma once

#include "path/path.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// libibnetdisc notices its bound of hops one link late: of the switches at the bound it still tries the first link that leads on. Where
/// this host has several ports in the subnet, that link may lead back to one of them, which libibnetdisc then lists with the host.
/// `fabric` was swept from this host at `start`, an empty directed route, with the radius `bound`. Finds the link with as few requests as
/// possible, and if it leads to a port of the host that is not known yet, reads this port. What does not answer is added to the failures of
/// `fabric`. Does nothing if all ports of the host are known.
async::Task<> read_link_back(Stack& stack, Fabric& fabric, path::Path start, unsigned bound);

}  // namespace ib::tools
