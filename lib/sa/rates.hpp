// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The order of rates. The codes of a rate (IBA 15.2.5.16) do not rise with the rate. The names of rates do not either: of "30 Gb/s"
// (12x SDR) a fifth is lost to coding, of "25 Gb/s" (1x EDR) almost nothing. The order is that of the data, as in opensm.
#pragma once

#include "iba-gen/sa.hpp"

namespace ib::sa {

/// The place of a rate in the order from slow to fast. 0 for a code without meaning.
unsigned order_of(Rate rate);

/// The place in this order of a link that carries `data_mbps` Mb/s of data.
unsigned order_of_data(double data_mbps);

}  // namespace ib::sa
