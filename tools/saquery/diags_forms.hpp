// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints records of the subnet administrator in the format of infiniband-diags' saquery. Each kind of record has a form of its own. Fields
// that share a word on the wire are sometimes printed as this word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba-gen/sa.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/struct_info.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools::saquery {

struct RecordStyle {
  const subnet::NodeNameMap& names;
  Keys keys = Keys::hidden;
  std::uint32_t capability_mask2 = 0;       ///< CapabilityMask2 in the ClassPortInfo of the SA
  std::span<const sa::NodeRecord> nodes{};  ///< for forms that print the name of a GID's node
  NewFields new_fields{};                   ///< of a PortInfo
};

class RecordLines;
struct FormLine;

struct RecordForm {
  std::string_view name, alias;  ///< the names on the command line; empty if an option selects the record
  std::string_view arguments;    ///< the members in the words that follow, divided by slashes: "from_lid/from_port to_lid/to_port"
  std::string_view title;
  std::size_t column;  ///< the column of the values, counted from the labels
  const StructInfo& (*info)();
  std::span<const FormLine> lines;
  void (*rest)(RecordLines& out) = nullptr;  ///< adds what no line says
};

/// The forms of records that have a name on the command line.
std::span<const RecordForm> record_forms();
/// The form with that name or alias, in upper or lower case. Null if there is none.
const RecordForm* find_form(std::string_view word);
const RecordForm& form_of(const StructInfo& info);

/// Special forms: a short PortInfoRecord; a MCMemberRecord as a group, as a member, or as the GID of the member.
extern const RecordForm port_summary_form, mc_group_form, mc_member_form, mc_gid_form;

/// The text of a record. Missing bytes count as zero. The text is safe for terminals.
std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style);

/// The name of a node: the site's name, else its description.
std::string node_name(const sa::NodeRecord& node, const subnet::NodeNameMap& names);

}  // namespace ib::tools::saquery
