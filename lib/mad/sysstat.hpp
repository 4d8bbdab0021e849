// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Two vendor classes for messages between hosts: the ping of infiniband-diags' ibping (class 0x32), and the ping, host and
// processor information of its ibsysstat (class 0x33, which python-rdma pings too). Both are of range 2, with an OUI that
// distinguishes the services of one class.
#pragma once

#include <string>

#include "mad/server.hpp"

namespace ib::mad {

inline constexpr std::uint32_t openib_oui = 0x001405;

/// Answers Get of attribute 0 of class 0x32 with `host`, cut to 215 bytes.
void serve_ping(Server& server, const std::string& host, std::uint32_t oui = openib_oui);

/// Answers the requests of ibsysstat: the ping with its own cookie, the host name, sys::cpu_text() (by RMPP if it is long), and
/// the ClassPortInfo, whose trap fields can be set.
void serve_sysstat(Server& server, const std::string& host, const std::string& cpus, std::uint32_t oui = openib_oui);
/// Answers only the ping of class 0x33.
void serve_sysstat_ping(Server& server, std::uint32_t oui = openib_oui);

}  // namespace ib::mad
