// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Single links, for following a route. In a query for links, opensm rounds the LID down by its own LMC, but not the LIDs of its
// switches, whose LMC is 0. If the LMC is 2, a query by LID therefore finds no links of three in four switches. A query by port
// number finds them.
#pragma once

#include <optional>

#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"

namespace ib::sa {

/// The link at `port` of the node at LID `from`. Without `port`, the only link of the end port at `from`. One query is enough
/// if the SA answers it. The error is that of this query.
async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port);

/// The LID at the other end of a link. Throws Error if it is not a unicast LID: no port can have such a LID.
Lid end_of(const LinkRecord& link);

}  // namespace ib::sa
