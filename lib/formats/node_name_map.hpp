// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files of node name maps, in the format of infiniband-diags and OpenSM. Each node has one line:
//   0x0008f10400411a08  "leaf switch 7"   # comment
// A GUID is a number in C notation, as in infiniband-diags, or any form of parse_guid(): 0008:f104:0041:1a08. A name in quotes
// ends at the closing quote. A name without quotes ends at '#' or at the end of the line, and includes trailing blanks. Empty
// lines and lines that begin with '#' are ignored. The first line of a GUID applies.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "subnet/model/names.hpp"

namespace ib::formats {

/// The default files of a site: the file of rdma-core, and the file of infiniband-diags from before it became a part of rdma-core. Neither
/// need exist.
inline constexpr std::array node_name_map_files{"/etc/rdma/ib-node-name-map", "/etc/infiniband-diags/ib-node-name-map"};

/// Reads `file`, which may have up to 16 MiB. Throws as read_regular_file() does.
subnet::NodeNameMap read_node_name_map(const std::string& file);
subnet::NodeNameMap read_node_name_map_as_diags(const std::string& file);
/// Parses the text of a map.
subnet::NodeNameMap parse_node_name_map(std::string_view text);
/// Parses the text of a map as infiniband-diags does: the GUID is a number as strtoull(…, 0) reads it, '"' and '#' before the name are
/// skipped alike, a line ends after 255 bytes, and nothing is read beyond the first wrong line.
subnet::NodeNameMap parse_node_name_map_as_diags(std::string_view text);

}  // namespace ib::formats
