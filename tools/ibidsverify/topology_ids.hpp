// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// LIDs and GUIDs that stand in the text of infiniband-diags' ibnetdiscover, and what infiniband-diags' ibidsverify has to say of them:
// which are zero, and which are there twice.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace ib::tools {

/// Reads a topology line by line.
class TopologyIds {
 public:
  /// One line, without its end.
  void read_line(std::string_view line);
  /// All lines of `text`.
  void read(std::string_view text);

  /// What is wrong, a line for each.
  const std::string& complaints() const { return complaints_; }

 private:
  void complain(std::string line);
  void node_head(std::string_view line);
  void end_port(std::string_view line);
  void add_lid();
  void add_node_guid();
  void add_port_guid();

  std::string type_, node_guid_, port_guid_, lid_;  // of the block that is being read, as they stand there
  bool first_port_{};
  std::unordered_map<std::string, std::string> lids_, node_guids_, port_guids_;  // LID → node GUID, GUIDs → LID
  std::string complaints_;
};

}  // namespace ib::tools
