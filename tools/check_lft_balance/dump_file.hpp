// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The output of dump_lfts, read as infiniband-diags' check_lft_balance reads it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/check_lft_balance/balance.hpp"

namespace ib::tools::balance {

/// The facts about a port of a switch in a listing of links.
struct LinkLine {
  bool down{}, active{};
};
/// Finds a port of a switch. The GUID has the form of the file. Returns nothing if the listing has no such port.
using FindLink = std::function<std::optional<LinkLine>(std::string_view guid, unsigned port)>;

class DumpFile {
 public:
  /// `find` is called while the file is read.
  DumpFile(FindLink find, bool deeper) : find_(std::move(find)), deeper_(deeper) {}

  void line(std::string_view text);
  /// Call this at the end of the file.
  void end();
  /// The switches, in the order of the file.
  const std::vector<SwitchUse>& switches() const { return switches_; }

 private:
  void heading(std::string_view text);
  void end_port(std::string_view text);
  void further_lid(std::string_view text);
  void end_of_host();
  void end_of_switch();
  bool is_direct(const std::string& port) const;

  FindLink find_;
  bool deeper_;
  std::vector<SwitchUse> switches_;
  std::optional<std::string> name_;
  std::string guid_, host_;
  std::map<std::string, unsigned> counts_;  ///< the key is the port, in the form of the file
  std::vector<std::string> host_ports_;     ///< the output ports for the LIDs of one end port
  std::vector<std::string> direct_hosts_;   ///< end ports whose LIDs all leave by one port
  unsigned lids_per_port_ = 0, counted_ = 0;
};

}  // namespace ib::tools::balance
