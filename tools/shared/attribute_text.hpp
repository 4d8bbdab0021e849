// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints an attribute in the format of all commands: a dotted listing, with -vv also its words. --int-names selects the names of fields.
// Keys are secrets: a key that is set is printed with -K only. Also what is common to reports on records of the subnet administrator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "iba/dump.hpp"
#include "iba/secrets.hpp"
#include "report/sink.hpp"
#include "sa/subn_adm.hpp"

namespace ib::report {
class TextOut;
}

namespace ib::tools {

class Manners;
using report::TextOut;
struct CommonOptions;

struct AttributeText {
  const StructInfo* info{};
  std::vector<std::uint8_t> bytes;
  bool words{}, int_names{};
  Keys keys = Keys::hidden;

  AttributeText() = default;
  /// Keeps the bytes of `payload` that belong to the structure.
  AttributeText(const CommonOptions& options, const StructInfo& structure, Bytes payload);

  /// Writes the members `attribute` and `data` in the form of report::visit_attribute().
  void visit_attribute(report::Sink& sink) const;
  /// `listing` is the usual text of the command for this attribute; its indent stands before each line of any text.
  void text(TextOut& out, const DottedOptions& listing) const;
};

/// Writes the array `key` of records, structures of `type`.
void visit_records(report::Sink& sink, std::string_view key, const sa::RecordBuffer& records, const StructInfo& type, Keys keys);
/// The warning for an answer of the SA that came without its end, with the number of records that arrived.
std::string torn_text(std::size_t arrived);

/// Prints libibmad's warning of an unknown LinkWidthActive in a PortInfo; nothing in ibtool's dialect.
void warn_of_link_width(const Manners& manners, Bytes port_info);

/// The listing of python-rdma: all fields, including reserved ones.
inline constexpr DottedOptions plain_listing{.names = NameStyle::saquery, .column = 25, .reserved = true};

/// A comment line that names -K, if the structure has keys that `keys` hides. Otherwise empty.
inline std::string_view secrets_note(Bytes bytes, const StructInfo& info, Keys keys) {
  return keys == Keys::hidden && has_secrets(bytes, info) ? "# A key is set but not displayed: -K shows it\n" : "";
}

/// PortState: `Down`, `Active`; `?? 9` for others.
std::string link_state_text(unsigned state);
/// PortPhysicalState: `Polling`, `Link UP`; `?? 9` for others.
std::string phys_link_state_text(unsigned state);

}  // namespace ib::tools
