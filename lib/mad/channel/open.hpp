// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Chooses the channels of an end port: umad for all MADs, or verbs for GMPs and umad for other MADs.
#pragma once

#include <memory>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// The channel that carries GMPs.
enum class GmpCarrier : int {
  automatic,  ///< umad if it can be opened; else verbs if it can be opened; else umad, whose error is then reported
  umad,
  verbs
};

/// Opens a channel for all MADs on `end_port`, which must outlive the channel. SMPs and served requests always go through umad.
/// If verbs carries the GMPs, umad is opened only when it is needed. Throws as open_umad() and open_verbs() do.
std::unique_ptr<Channel> open_channel(const sys::EndPort& end_port, GmpCarrier carrier = GmpCarrier::automatic);

}  // namespace ib::mad
