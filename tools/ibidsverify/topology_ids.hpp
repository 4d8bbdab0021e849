// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the LIDs and GUIDs in the text of infiniband-diags' ibnetdiscover. Reports, like infiniband-diags' ibidsverify, those that are
// zero and those that occur twice.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace ib::tools {

/// Reads a topology line by line.
class TopologyIds {
 public:
  /// Reads one line, without its line break.
  void read_line(std::string_view line);
  /// Reads all lines of `text`.
  void read(std::string_view text);

  /// The problems, one line each.
  const std::string& complaints() const { return complaints_; }

 private:
  void complain(std::string line);
  void node_head(std::string_view line);
  void end_port(std::string_view line);
  void add_lid();
  void add_node_guid();
  void add_port_guid();

  std::string type_, node_guid_, port_guid_, lid_;  // of the current block, in the form of the text
  bool first_port_{};
  std::unordered_map<std::string, std::string> lids_, node_guids_, port_guids_;  // LID → node GUID, GUIDs → LID
  std::string complaints_;
};

}  // namespace ib::tools
