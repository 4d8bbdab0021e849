// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Printers over (bytes, StructInfo): the word dump of -vv and decode_mad, and the dotted listing. No attribute needs printing
// code of its own. Listings in libibmad's words are in iba/libibmad_text.hpp.
//
// Keys that are set are hidden (iba/secrets.hpp) unless Keys::shown is given. A hidden key is zero in the word dump.
//
// A field that was reserved in older versions of the IBA prints as a reserved field under its old name while it is zero. The
// output for older hardware therefore never changes, and newer hardware shows its fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "iba/wire.hpp"

namespace ib {

/// Prints one line for each 32-bit word: offset, hex value, and the fields that begin in the word. `offset` (bytes) is added to
/// the printed offsets. In a MAD format, `data` is decoded as the attribute that the header names. The text ends with a
/// newline.
std::string dump_words(Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden, std::uint32_t offset = 0);

/// Selects whose field names a listing shows.
enum class NameStyle : std::uint8_t { iba, smpquery, saquery, perfquery };

/// The layout of a dotted listing.
struct DottedOptions {
  NameStyle names = NameStyle::iba;
  unsigned column = 33;        ///< where values begin
  bool colon = false;          ///< `Name:....` instead of `Name.....`
  bool reserved = false;       ///< list reserved fields too
  bool words = false;          ///< codes as worded() has them
  bool element_lines = false;  ///< each array element on a line of its own, also if the elements are small numbers
  std::string_view indent{};   ///< before each line
  Keys keys = Keys::hidden;
  bool (*leaves_out)(const FieldInfo& field) = nullptr;  ///< whether a field is not listed; null: all are
};

/// Prints one line for each field, `NodeType.........................2`. The name of a nested structure is a prefix of its
/// fields' names.
std::string dotted(Bytes bytes, const StructInfo& info, const DottedOptions& options = {});
/// The dotted listing of a typed structure.
template <class T>
std::string dotted(const T& value, const DottedOptions& options = {}) {
  return dotted(Bytes(wire::packed(value)), T::info(), options);
}

/// The name of `field` in a style (`Guid`, `NodeGUID`, `node_guid`), without prefix.
std::string styled_name(const FieldInfo& field, NameStyle style);

/// A value of a field with its name: `Active (4)`, and for short sets of flags `1x or 4x (3)`. Only the number where it has no name, has
/// bits without one, or is a long mask.
std::string worded(const FieldInfo& field, std::uint64_t value);

/// One element as the dotted listing prints it: hex, decimal, GUID, GID, prefix or quoted text. Keys are not hidden.
std::string field_text(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0);

}  // namespace ib
