// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator as infiniband-diags' saquery writes them: each kind in a form of its own, in which
// fields that share a word on the wire are sometimes shown as that word.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "iba/types.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::diags {

/// What the forms depend on.
struct RecordStyle {
  const subnet::NodeNameMap& names;
  bool show_keys = false;
  std::uint32_t capability_mask2 = 0;  ///< of the SA's ClassPortInfo
};

/// One record as text. Bytes that are missing count as zero; safe for terminals.
using RecordText = std::string (*)(Bytes record, const RecordStyle& style);

std::string node_record_text(Bytes record, const RecordStyle& style);
std::string path_record_text(Bytes record, const RecordStyle& style);
std::string class_port_info_text(Bytes record, const RecordStyle& style);
std::string port_info_record_text(Bytes record, const RecordStyle& style);
std::string port_summary_text(Bytes record, const RecordStyle& style);
std::string mc_member_record_text(Bytes record, const RecordStyle& style);
std::string mc_group_text(Bytes record, const RecordStyle& style);
std::string service_record_text(Bytes record, const RecordStyle& style);
std::string sm_info_record_text(Bytes record, const RecordStyle& style);
std::string switch_info_record_text(Bytes record, const RecordStyle& style);
std::string inform_info_record_text(Bytes record, const RecordStyle& style);
std::string link_record_text(Bytes record, const RecordStyle& style);
std::string sl2vl_record_text(Bytes record, const RecordStyle& style);
std::string vl_arbitration_record_text(Bytes record, const RecordStyle& style);
std::string pkey_table_record_text(Bytes record, const RecordStyle& style);
std::string lft_record_text(Bytes record, const RecordStyle& style);
std::string mft_record_text(Bytes record, const RecordStyle& style);
std::string guid_info_record_text(Bytes record, const RecordStyle& style);

/// A node's name: the site's, else its description.
std::string node_name(Bytes node_record, const subnet::NodeNameMap& names);

}  // namespace ib::diags
