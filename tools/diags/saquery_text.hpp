// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator as infiniband-diags' saquery writes them: each kind in a form of its own, in which
// fields that share a word on the wire are sometimes shown as that word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::diags {

/// What the forms depend on.
struct RecordStyle {
  const subnet::NodeNameMap& names;
  Keys keys = Keys::hidden;
  std::uint32_t capability_mask2 = 0;  ///< of the SA's ClassPortInfo
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
  std::string_view title;
  std::size_t column;  ///< of the values, counted from the labels
  std::span<const RecordLine> lines;
};

extern const RecordForm class_port_info_form, node_record_form, port_info_record_form, sl2vl_record_form, pkey_table_record_form,
    vl_arbitration_record_form, inform_info_record_form, link_record_form, service_record_form, path_record_form, mc_member_record_form,
    lft_record_form, mft_record_form, guid_info_record_form, switch_info_record_form, sm_info_record_form;
/// A PortInfoRecord in few lines, and a MCMemberRecord as its group or its member.
extern const RecordForm port_summary_form, mc_group_form, mc_member_form;

/// One record as text. Bytes that are missing count as zero; safe for terminals.
std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style);

/// A node's name: the site's, else its description.
std::string node_name(Bytes node_record, const subnet::NodeNameMap& names);

}  // namespace ib::diags
