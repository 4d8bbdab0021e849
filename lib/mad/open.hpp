// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which channel carries what: umad everything, or verbs the GMPs and umad the rest.
#pragma once

#include <memory>

#include "mad/channel.hpp"

namespace ib::mad {

/// What carries GMPs.
enum class GmpCarrier : int {
  automatic,  ///< umad where it can be opened; else verbs where they can; else umad, whose error then stands
  umad,
  verbs
};

/// Opens a channel for all MADs on `end_port`, which must outlive it. SMPs and what is served always go through umad,
/// which is opened when it is needed where it does not carry the GMPs too. Throws as open_umad() and open_verbs() do.
std::unique_ptr<Channel> open_channel(const sys::EndPort& end_port, GmpCarrier carrier = GmpCarrier::automatic);

}  // namespace ib::mad
