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

/// How a pair counts whose SL is not known.
enum class UnknownSl : std::uint8_t {
  certain,   ///< what it holds with every SL: where a table maps all SLs to one VL
  possible,  ///< what it may hold with some SL
};

class ServiceLevels {
 public:
  /// The SL of no pair is known.
  ServiceLevels() = default;
  /// Every pair may use each of `sls`.
  explicit ServiceLevels(SlSet sls) : of_all_(sls) {}
  /// set() gives the SLs of pairs of `senders` senders and the destinations by their number.
  ServiceLevels(std::size_t senders, std::size_t destinations) : senders_(senders), by_pair_(senders * destinations, unknown) {}

  bool is_by_pair() const { return senders_ != 0; }
  /// Whether the SL of each pair is known.
  bool covers_all() const { return of_all_ != 0; }
  void set(std::size_t sender, std::size_t destination, unsigned sl) {
    by_pair_[destination * senders_ + sender] = static_cast<std::uint8_t>(sl);
  }
  bool is_known(std::size_t sender, std::size_t destination) const {
    return of_all_ != 0 || (is_by_pair() && by_pair_[destination * senders_ + sender] != unknown);
  }
  /// The SLs that a pair may use.
  SlSet of(std::size_t sender, std::size_t destination, UnknownSl rest) const {
    if (is_by_pair() && is_known(sender, destination)) return SlSet{1} << by_pair_[destination * senders_ + sender];
    return of_rest(rest);
  }
  /// Those that a pair may use which is not known by itself.
  SlSet of_rest(UnknownSl rest) const {
    if (of_all_ != 0) return of_all_;
    return rest == UnknownSl::possible ? all_sls : all_sls + 1;
  }

 private:
  static constexpr std::uint8_t unknown = 0xff;
  SlSet of_all_ = 0;
  std::size_t senders_ = 0;
  std::vector<std::uint8_t> by_pair_;
};

}  // namespace ib::routing
