// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs in words, for errors and traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"

namespace ib::mad {

/// What a MAD is: `MAD_METHOD_GET(1) SMPFormat(1.1) SMPNodeInfo(17)`; `??` for what is not known. Fewer than 24 bytes
/// give "a truncated MAD".
std::string describe(Bytes mad);
/// The name of its format (`SMPFormat`), or `??`.
std::string_view format_name(Bytes mad);
/// The class-specific status of subnet administration: `MAD_STATUS_SA_NO_RECORDS(3)` (IBA 15.2.4).
std::string sa_status_text(unsigned code);
/// The decoded packet, word by word, one line each, the last one ended too.
std::string dump_packet(Bytes mad, Keys keys = Keys::hidden);
/// A MAD, or a reassembled answer of the SA, with zeros in the place of all keys that its class and its attribute have.
std::vector<std::uint8_t> without_keys(Bytes mad);

}  // namespace ib::mad
