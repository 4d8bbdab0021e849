// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values and listings in the words of infiniband-diags (libibmad): what the legacy names print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// A number in libibmad's words: `Active`, `1X or 4X`, `0x0000`. `bits` gives the width of hex numbers.
/// Capability masks take several lines, the later ones indented by four tabs, without a final newline.
std::string libibmad_text(LibibmadText text, std::uint64_t value, unsigned bits);

/// One element of a field in libibmad's words; arrays of bytes in hex, strings in quotes.
std::string libibmad_text(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0);

/// `NumPorts:........................8` and a newline.
std::string libibmad_line(std::string_view name, std::string_view value);

/// All fields that libibmad knows of a structure, a line each, in libibmad's order. A hidden key is hidden also where it is zero,
/// as infiniband-diags does. What is younger than libibmad (rank 2) is listed where any of it is not zero.
std::string libibmad_listing(Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);
/// The same of `fields`, by our names.
std::string libibmad_listing(Bytes bytes, const StructInfo& info, std::span<const std::string_view> fields, Keys keys = Keys::hidden);

/// `| 0| 1|…|` and a newline: the VL of each SL of an SLtoVLMappingTable (8 bytes; missing ones count as zero).
std::string libibmad_sl_to_vl(Bytes table);

/// Two lines, VLs and weights, of the first `entries` entries of a VLArbitrationTable, after an empty line.
std::string libibmad_vl_arbitration(Bytes table, unsigned entries);

}  // namespace ib
