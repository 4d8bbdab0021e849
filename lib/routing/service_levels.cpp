// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/service_levels.hpp"

namespace ib::routing {

void ServiceLevels::set(std::size_t sender, std::size_t destination, unsigned sl) {
  const std::size_t pair = destination * senders_ + sender;
  const unsigned code = sl + 1, shift = pair % 2 * 4;
  codes_[pair / 2] = static_cast<std::uint8_t>((codes_[pair / 2] & ~(0xfU << shift)) | (code & 0xfU) << shift);
  if (code == last_code && has_last_.empty()) has_last_.resize(codes_.size() * 2);
  if (!has_last_.empty()) has_last_[pair] = code == last_code;
}

}  // namespace ib::routing
