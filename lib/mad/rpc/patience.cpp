// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc/patience.hpp"

#include <algorithm>

#include "mad/rpc/call.hpp"

namespace ib::mad {

using namespace std::chrono_literals;

Duration delay_after(unsigned tries, bool busy) {
  return std::min<Duration>((busy ? 50ms : 10ms) * (1 << std::min(tries - 1, 10U)), busy ? 2s : 1s);
}

Duration Patience::stale_after(std::uint8_t mgmt_class) const {
  const Duration rtt = round_trip(mgmt_class);
  return rtt == 0ns ? Duration(100ms) : std::max<Duration>(8 * rtt, 5ms);
}

Duration Patience::for_answer(const RpcCall& call) const {
  constexpr unsigned early_tries = 2;
  const HeaderView header(call.mad);
  const bool is_sa = header.mgmt_class() == mgmt_class::sa;
  const Duration rtt = round_trip(header.mgmt_class());
  const bool is_early = header.method() == method::get && !call.path.ib().timeout && call.tries <= early_tries && call.tries_left > 0;
  if (!is_early || (is_sa ? rtt == 0ns : has_rmpp(header.mgmt_class()))) return call.timeout;
  const Duration least = is_sa ? 250ms : 50ms;
  const Duration of_node = call.responder != nullptr ? 4 * call.responder->rtt() : 0ns;  // most nodes are alike, this one may be slow
  const Duration first = std::max(rtt == 0ns ? 2 * least : std::max<Duration>(16 * rtt, least), of_node);
  return std::min(call.timeout, call.tries == 1 ? first : 4 * first);
}

Duration Patience::for_segment(unsigned repeats, Duration sure) const {
  // An ACK is lost like other MADs, and most senders wait seconds for it: it is repeated twice after some round trips.
  constexpr unsigned early_repeats = 2;
  const Duration rtt = acks_.get();
  if (rtt == 0ns) return sure * (1U << repeats);
  if (repeats >= early_repeats) return sure * (1U << (repeats - early_repeats));
  const Duration first = std::max<Duration>(16 * rtt, 20ms);
  return std::min(repeats == 0 ? first : 4 * first, sure);
}

}  // namespace ib::mad
