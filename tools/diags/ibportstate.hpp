// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of infiniband-diags' ibportstate: its operations, and what it finds wrong with a link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"

namespace ib::diags::portstate {

enum class StateOp { query, enable, on, disable, off, reset, down, arm, active };

/// The operations of a command line. Those with a value are 0 where they were not given.
struct Operations {
  std::optional<StateOp> state;
  std::optional<std::uint8_t> speed, espeed, fdr10, width, vls, mtu, lmc, mkeyprot;
  std::optional<std::uint16_t> lid, smlid, mkeylease;
  std::optional<std::uint64_t> mkey;

  /// Whether something is set.
  bool change() const;
  bool m_key_fields() const { return mkey || mkeylease || mkeyprot; }
  /// `info` as it is sent: LIDs that are missing are made up, as infiniband-diags does, for nodes that refuse none.
  void apply(smp::PortInfo& info) const;
};

/// Reads the arguments from the third on. Throws Failure.
Operations read_operations(const std::vector<std::string>& arguments);

/// A port with what else its node says of its speed.
struct Side {
  smp::PortInfo info;
  bool extended_speeds{};
  smp::MlnxExtPortInfo mlnx;
};

/// Warns on stderr of a link that runs narrower or slower than both of its ports could.
void validate(const Side& port, const Side& peer);

}  // namespace ib::diags::portstate
