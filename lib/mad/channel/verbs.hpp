// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of the channel over verbs that need no device.
#pragma once

#include "mad/channel/channel.hpp"
#include "verbs/objects.hpp"

namespace ib::mad {

/// Parses the 40 bytes before a datagram that came over `link_layer` into the GRH fields of `source`: a GRH (IBA 8.3), or on RoCE the IPv6
/// or IPv4 header in its place. IPv4 addresses become GIDs ::ffff:a.b.c.d. Changes nothing if the bytes are not a header.
void parse_grh(Bytes bytes, sys::LinkLayer link_layer, Source& source);

/// The queue sizes of a queue pair for MADs on `device`: the wanted sizes, or the device's limits if these are smaller.
verbs::QueueSizes mad_queue_sizes(const ibv_device_attr& device);

}  // namespace ib::mad
