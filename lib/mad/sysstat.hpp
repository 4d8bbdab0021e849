// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The two vendor classes by which hosts answer each other: the ping of infiniband-diags' ibping (class 0x32) and the
// ping, host and processor information of its ibsysstat (class 0x33, which python-rdma pings too). Both are of range 2,
// with an OUI that tells services of one class apart.
#pragma once

#include <span>
#include <string>

#include "mad/server.hpp"
#include "sys/host.hpp"

namespace ib::mad {

inline constexpr std::uint32_t openib_oui = 0x001405;

/// Answers Get of attribute 0 of class 0x32 with `host`, cut to 215 bytes.
void serve_ping(Server& server, const std::string& host, std::uint32_t oui = openib_oui);

/// The text of the processor information: a line for each, as infiniband-diags words it.
std::string cpu_text(std::span<const sys::Cpu> cpus);

struct HostText {
  std::string host, cpus;
};
/// Answers what ibsysstat asks: the ping with its own cookie, the host's name, its processors (by RMPP where the text needs
/// it), and the ClassPortInfo, whose trap fields can be set.
void serve_sysstat(Server& server, const HostText& text, std::uint32_t oui = openib_oui);
/// The ping alone.
void serve_sysstat_ping(Server& server, std::uint32_t oui = openib_oui);

}  // namespace ib::mad
