// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Describes MADs in words for errors and traces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"

namespace ib::mad {

/// Names method, format and attribute of a MAD: `MAD_METHOD_GET(1) SMPFormat(1.1) SMPNodeInfo(17)`. An unknown name is `??`.
/// Fewer than 24 bytes give "a truncated MAD". As in python-rdma's traces, most responses have no name.
std::string describe(Bytes mad);
/// As describe(), with the names of all methods. `mad` may have any length; missing bytes count as zero.
std::string full_description(Bytes mad);
/// The text of a MAD status (IBA 13.4.7) without its class-specific byte: `Ok`, `BUSY Unsupported method`, or `??` if unknown.
std::string mad_status_text(std::uint16_t status);
std::string_view format_name(Bytes mad);
/// The name of a class-specific status of subnet administration: `MAD_STATUS_SA_NO_RECORDS(3)` (IBA 15.2.4).
std::string sa_status_text(unsigned code);
/// The decoded packet, one line for each word. Every line ends with a newline.
std::string dump_packet(Bytes mad, Keys keys = Keys::hidden);
/// A copy of a MAD, or of a reassembled answer of the SA, with all keys of its class and its attribute set to zero. The versions in its
/// header do not matter. What keeps or writes MADs without keys uses this function or the next one.
std::vector<std::uint8_t> without_keys(Bytes mad);
/// As above, for the part of a MAD that begins at byte `offset`, of the class and the attribute. Nothing if it holds no key.
std::optional<std::vector<std::uint8_t>> without_keys(std::uint8_t mgmt_class, std::uint16_t attribute_id, std::size_t offset, Bytes part);

}  // namespace ib::mad
