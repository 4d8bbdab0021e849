// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The channels of an end port: umad for all MADs, or verbs for GMPs and umad for other MADs.
#pragma once

#include <functional>
#include <memory>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// Opens the umad devices of `end_port`: its SMI device for SMPs and its GSI device for all other classes. On most hardware
/// they are the same device. Separate devices are each opened at their first MAD. `end_port` must outlive the channel. send()
/// throws SysError if the device is missing or cannot be opened.
std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port);

/// Opens the verbs device of `end_port` for GMPs: a UD queue pair of this process exchanges MADs with QP1 of other ports. `end_port` must
/// outlive the channel. The queue pair is not QP1. A request reaches it only by the queue pair number that a MAD sent from it shows; all
/// such requests are delivered, with or without serve(). To serve a class, use open_channel(). Transaction IDs return complete. The user of
/// the channel does RMPP. The channel carries no SMPs: send() throws Error for them. Throws Error if there are no verbs, if they may not be
/// used, or if the kernel does not grant QP1's Q_Key, which needs CAP_NET_RAW.
std::unique_ptr<Channel> open_verbs(const sys::EndPort& end_port);

using OpenChannel = std::function<std::unique_ptr<Channel>(const sys::EndPort&)>;

/// Makes a channel that sends GMPs through `gmps`, and SMPs and the served classes through umad. Requests arrive at QP1, which
/// only umad reaches, and their answers leave from QP1. Our own requests of a served class also go through umad, because a
/// segment or ACK does not show which side began. serve() must therefore be called before the first request of its class.
/// `open_umad` is called when umad is needed; its exceptions leave send(). serve() throws Error.
std::unique_ptr<Channel> make_split_channel(std::unique_ptr<Channel> gmps, OpenChannel open_umad);

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
