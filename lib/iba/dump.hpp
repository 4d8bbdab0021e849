// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Printers over (bytes, StructInfo), so that no attribute needs printing code of its own: the word dump of
// -vv and decode_mad, and the dotted listing. Listings in libibmad's words are in iba/libibmad_text.hpp.
//
// Keys that are set are hidden (iba/secrets.hpp) unless Keys::shown is given: their bytes are zero in the word dump.
//
// A field that was reserved in older versions of the IBA prints under its old name, as a reserved field, as
// long as it is zero; so older hardware looks as it always did, and newer hardware shows what it has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// One line per 32-bit word: offset, hex, and the fields that begin there. `offset` is added to the offsets.
/// In a MAD format, `data` is decoded as the attribute that the header names. Ends with a newline.
std::string dump_words(Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden, std::uint32_t offset = 0);

enum class NameStyle : std::uint8_t { iba, smpquery, saquery, perfquery };

struct DottedOptions {
  NameStyle names = NameStyle::iba;
  unsigned column = 33;        ///< where values begin
  bool colon = false;          ///< `Name:....` instead of `Name.....`
  bool reserved = false;       ///< list reserved fields too
  bool element_lines = false;  ///< each array element on a line, also of small numbers
  std::string_view indent{};   ///< before each line
  Keys keys = Keys::hidden;
};

/// `NodeType.........................2`: a line per field, nested structures with their name as prefix.
std::string dotted(Bytes bytes, const StructInfo& info, const DottedOptions& options = {});
/// The same of a typed structure.
template <class T>
std::string dotted(const T& value, const DottedOptions& options = {}) {
  std::array<std::uint8_t, T::wire_size> bytes{};
  value.pack(bytes);
  return dotted(Bytes(bytes), T::info(), options);
}

/// The name a style gives a field (`Guid`, `NodeGUID`, `node_guid`), without prefix.
std::string styled_name(const FieldInfo& field, NameStyle style);

/// One element as the dotted listing prints it: hex, decimal, GUID, GID, prefix or quoted text; also a key.
std::string field_text(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0);

}  // namespace ib
