// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One attribute as it came, the way every command shows it: a dotted listing, its words with -vv, names as --int-names
// says. Keys are secrets: one that is set is shown on demand only (-K).
#pragma once

#include <cstdint>
#include <vector>

#include "iba/dump.hpp"
#include "out/sink.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

class Session;

struct AttributeText {
  const StructInfo* info{};
  std::vector<std::uint8_t> bytes;
  bool words{}, int_names{};
  Keys keys = Keys::hidden;

  AttributeText() = default;
  /// Keeps as much of `payload` as the structure has.
  AttributeText(const CommonOptions& options, const StructInfo& structure, Bytes payload);

  /// The members of a JSON object that is open.
  void visit(out::Sink& sink) const;
  /// The members `attribute` and `data`, as out::visit_attribute() writes them.
  void visit_attribute(out::Sink& sink) const;
  /// `listing` is how it is listed in the command's usual words.
  void text(TextOut& out, const DottedOptions& listing) const;
};

/// libibmad warns of a LinkWidthActive that it has no word for, where it lists a PortInfo. Nothing in ibtool's dialect.
void warn_of_link_width(const Session& session, Bytes port_info);

/// The listing of python-rdma's attribute printer: every field, reserved ones too.
inline constexpr DottedOptions plain_listing{.names = NameStyle::saquery, .column = 25, .reserved = true};

}  // namespace ib::tools
