// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints an attribute in the format of all commands: a dotted listing, with -vv also its words. --int-names selects the names of fields.
// Keys are secrets: a key that is set is printed with -K only.
#pragma once

#include <cstdint>
#include <vector>

#include "iba/dump.hpp"
#include "report/sink.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

class Manners;

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
  /// `listing` is the usual text of the command for this attribute.
  void text(TextOut& out, const DottedOptions& listing) const;
};

/// When libibmad prints a PortInfo, it warns of an unknown LinkWidthActive. This function prints the warning. In ibtool's dialect, it
/// prints nothing.
void warn_of_link_width(const Manners& manners, Bytes port_info);

/// The listing of python-rdma: all fields, including reserved ones.
inline constexpr DottedOptions plain_listing{.names = NameStyle::saquery, .column = 25, .reserved = true};

}  // namespace ib::tools
