// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links one by one, as routes are followed. opensm rounds the LIDs of such a query down by its LMC, but not those of its switches,
// whose LMC is 0: asked by LID it has no links of three in four switches where the LMC is 2. Asked by port number it has.
#pragma once

#include <optional>

#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"

namespace ib::sa {

/// The link at `port` of the node at LID `from`, or for the end port at `from` its only one: one query where the SA answers it.
/// The error is that of this query.
async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port);

}  // namespace ib::sa
