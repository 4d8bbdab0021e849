// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Builds answers to requests, for Transactors that answer from stored data and send nothing to the fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "mad/packet.hpp"
#include "mad/request.hpp"

namespace ib::mad {

/// The MAD by which a node would answer `request`, with `status` and, from the beginning of `area`, `payload`; zeros follow.
std::vector<std::uint8_t> answer_to(const Request& request, std::uint16_t status, const DataArea& area, Bytes payload);

}  // namespace ib::mad
