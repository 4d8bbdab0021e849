// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Why a link is down, or in trouble: the codes of PDDR page 1 (monitor_opcode) in words, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ib::phy {

/// The code in words. Codes that are only known by their group have the words of the group. Empty for an unknown code.
std::string_view trouble_text(std::uint16_t code);

/// What to do, as a sentence. Empty where there is nothing to do, or nothing is known.
std::string_view remedy(std::uint16_t code);

/// Whether a code says that something is wrong: neither no trouble, nor no information.
bool is_trouble(std::uint16_t code);

}  // namespace ib::phy
