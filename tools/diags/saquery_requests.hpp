// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What saquery of infiniband-diags asks: the SA, and for which LID a word stands. What goes wrong ends the tool in its words.
#pragma once

#include <cstdint>
#include <string>

#include "async/task.hpp"
#include "iba-gen/mad.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"

namespace ib::diags {

/// The errno values that it ends with.
inline constexpr int timed_out = 110, io_error = 5, not_on_network = 64, invalid_argument = 22;

/// The records that match. Throws Stop where there is no answer, or one with a status.
async::Task<sa::Records> ask_sa(mad::Transactor& transactor, const sa::Pattern& pattern, std::uint8_t method = mad::method::get_table,
                                std::uint32_t modifier = 0);
/// The LID that a word says or whose node it names. Throws Stop for a word that is neither.
async::Task<std::uint16_t> lid_of(mad::Transactor& transactor, std::string word);

}  // namespace ib::diags
