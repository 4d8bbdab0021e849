// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values and listings in the words of libibmad, which the legacy names of infiniband-diags print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/dialects.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// A number in libibmad's words: `Active`, `1X or 4X`, `0x0000`. `bits` is the width of hex numbers. Capability masks take
/// several lines without a final newline; all lines but the first begin with four tabs.
std::string libibmad_text(LibibmadText text, std::uint64_t value, unsigned bits);

/// One element of a field in libibmad's words. Arrays of bytes are hex, strings are quoted.
std::string libibmad_text(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0);

/// One line of a listing, `NumPorts:........................8`, with a newline.
std::string libibmad_line(std::string_view name, std::string_view value);

/// Whether a listing has the fields that an older libibmad does not know (rank 2).
enum class NewFields {
  if_set,  ///< if any of them is not zero
  always,
};

/// All fields of a structure that libibmad knows, one line each, in libibmad's order. As in infiniband-diags, a hidden key is
/// hidden also if it is zero.
std::string libibmad_listing(Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden, NewFields new_fields = NewFields::if_set);
/// The fields named in `fields`, one line each, in the order of `fields`. The names are the names of iba-defs. Throws std::logic_error for
/// a name that the structure does not have.
std::string libibmad_listing(Bytes bytes, const StructInfo& info, std::span<const std::string_view> fields, Keys keys = Keys::hidden);

/// The VL of each SL in an SLtoVLMappingTable, `| 0| 1|…|`, with a newline. `table` has 8 bytes; missing bytes count as zero.
std::string libibmad_sl_to_vl(Bytes table);

/// An empty line and two lines, VLs and weights, for the first `entries` entries of a VLArbitrationTable.
std::string libibmad_vl_arbitration(Bytes table, unsigned entries);

}  // namespace ib
