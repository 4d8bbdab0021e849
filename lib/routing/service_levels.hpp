// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The service levels that pairs use, as far as they are known.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/network.hpp"

namespace ib::routing {

/// A set of SLs: bit n is SL n. Bit 16 is any_sl (sl_to_vl.hpp).
using SlSet = std::uint32_t;
inline constexpr SlSet all_sls = 0xffff;

/// How a pair with an unknown SL counts.
enum class UnknownSl : std::uint8_t {
  certain,   ///< what it holds with every SL: where a table maps all SLs to one VL
  possible,  ///< what it may hold with some SL
};

/// Half a byte a pair: there are a hundred million pairs and more.
class ServiceLevels {
 public:
  /// The SL of no pair is known.
  ServiceLevels() = default;
  /// Every pair may use each of `sls`.
  explicit ServiceLevels(SlSet sls) : of_all_(sls) {}
  /// set() gives the SLs of pairs of `senders` senders and the destinations by their number.
  ServiceLevels(std::size_t senders, std::size_t destinations) : senders_(senders), codes_((senders * destinations + 1) / 2) {}

  bool is_by_pair() const { return senders_ != 0; }
  /// Whether the SL of each pair is known.
  bool covers_all() const { return of_all_ != 0; }
  void set(std::size_t sender, std::size_t destination, unsigned sl);
  bool is_known(std::size_t sender, std::size_t destination) const {
    return of_all_ != 0 || (is_by_pair() && code(destination * senders_ + sender) != unknown);
  }
  /// The SLs that a pair may use.
  SlSet of(std::size_t sender, std::size_t destination, UnknownSl rest) const {
    const unsigned known = is_by_pair() ? code(destination * senders_ + sender) : unknown;
    return known == unknown ? of_rest(rest) : SlSet{1} << (known - 1);
  }
  /// The SLs of a pair whose own SL is not known.
  SlSet of_rest(UnknownSl rest) const {
    if (of_all_ != 0) return of_all_;
    return rest == UnknownSl::possible ? all_sls : all_sls + 1;
  }

 private:
  static constexpr unsigned unknown = 0;
  static constexpr unsigned last_code = 16;

  /// One more than the SL of a pair, or unknown.
  unsigned code(std::size_t pair) const {
    const unsigned low = codes_[pair / 2] >> pair % 2 * 4 & 0xfU;
    return low == 0 && !has_last_.empty() && has_last_[pair] ? last_code : low;
  }

  SlSet of_all_ = 0;
  std::size_t senders_ = 0;
  std::vector<std::uint8_t> codes_;  // two pairs in each; the last code is 0, too
  std::vector<bool> has_last_;       // the pairs with the last code, SL 15; empty as long as there are none
};

}  // namespace ib::routing
