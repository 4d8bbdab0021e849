// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator as infiniband-diags' saquery names and writes them: each kind in a form of its own, in which
// fields that share a word on the wire are sometimes shown as that word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "sa/records.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::tools::saquery {

/// What the forms depend on.
struct RecordStyle {
  const subnet::NodeNameMap& names;
  Keys keys = Keys::hidden;
  std::uint32_t capability_mask2 = 0;  ///< of the SA's ClassPortInfo
  const sa::Records* nodes = nullptr;  ///< NodeRecords, for the forms that name the node of a GID
};

/// What stands in a line: bits of the record, a GID where they are 128, or what a function makes of it.
struct RecordValue {
  std::size_t bit = 0;
  unsigned width = 0;
  std::string (*make)(Bytes record, const RecordStyle& style) = nullptr;

  bool operator==(const RecordValue&) const = default;
};

/// A line "<tab><tab>label....value". Without a value the label is the whole line; without a label the value is whole lines.
struct RecordLine {
  std::string_view label;
  RecordValue value = {};
  std::string_view format = "{}";  ///< of a number, for fmt
};

struct RecordForm {
  std::string_view name, alias;  ///< as a command line asks for the record; empty where an option does
  const StructInfo& (*info)();
  std::string_view arguments;  ///< the members that each further word names, with slashes between: "from_lid/from_port to_lid/to_port"
  std::string_view title;
  std::size_t column;  ///< of the values, counted from the labels
  std::span<const RecordLine> lines;
};

/// The forms of records that can be asked for by name.
std::span<const RecordForm> record_forms();
/// The one of that name or alias, in any case; null where there is none.
const RecordForm* find_form(std::string_view word);
/// The one of that structure, which must have one.
const RecordForm& form_of(const StructInfo& info);

/// A PortInfoRecord in few lines; a MCMemberRecord as its group, its member, or the GID of that alone.
extern const RecordForm port_summary_form, mc_group_form, mc_member_form, mc_gid_form;

/// One record as text. Bytes that are missing count as zero; safe for terminals.
std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style);

/// A node's name: the site's, else its description.
std::string node_name(Bytes node_record, const subnet::NodeNameMap& names);

}  // namespace ib::tools::saquery
