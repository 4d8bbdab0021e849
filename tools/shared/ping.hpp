// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Pings as both dialects of ibping count them, and the two requests that are one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "iba-gen/ofa.hpp"
#include "mad/request.hpp"

namespace ib::tools {

/// What answers a ping: the server of infiniband-diags' ibping, or that of ibsysstat.
enum class PingProtocol : std::uint8_t { ibping, ibsysstat };

inline mad::Request ping_request(const path::Path& path, PingProtocol protocol, std::uint32_t oui) {
  const bool sysstat = protocol == PingProtocol::ibsysstat;
  return {.path = path,
          .mgmt_class = sysstat ? mad::mgmt_class::ofa_sysstat : mad::mgmt_class::ofa_ping,
          .attribute_id = sysstat ? ofa::SysStatPing::attribute_id : std::uint16_t{0},
          .payload = {},
          .oui = oui};
}

struct PingCounts {
  using Duration = async::Duration;
  std::uint64_t transmitted{}, received{};
  Duration least{}, most{}, total{};  ///< of the round trips of those received; zero where there are none

  void answered(Duration rtt) {
    least = received == 0 ? rtt : std::min(least, rtt);
    most = std::max(most, rtt);
    total += rtt;
    ++received;
  }
  std::uint64_t lost() const { return transmitted - received; }
  std::uint64_t percent_lost() const { return transmitted == 0 ? 0 : lost() * 100 / transmitted; }
  Duration mean() const { return received == 0 ? Duration{} : total / static_cast<std::int64_t>(received); }
};

}  // namespace ib::tools
