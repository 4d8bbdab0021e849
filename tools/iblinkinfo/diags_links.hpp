// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints the links of nodes in the format of infiniband-diags' iblinkinfo: a heading for each node and a line for each of its ports, or
// with -l complete lines without headings. In descriptions, a blank replaces each character that cannot be printed. Descriptions are cut
// to 63 characters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/chassis.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {

/// The text of infiniband-diags' iblinkinfo. The functions append to a buffer of the caller.
class DiagsLinks {
 public:
  /// All arguments must outlive the object. `grouping` has the port numbers on the panels of chassis.
  DiagsLinks(const subnet::Subnet& subnet, const subnet::NodeNameMap& names, const subnet::Grouping& grouping)
      : subnet_(subnet), names_(names), grouping_(grouping) {}

  bool line = false;                             ///< -l: no headings, a line describes both ends of a link
  bool additional = false;                       ///< -p
  bool down = false;                             ///< -d: only ports that are down
  std::function<bool(subnet::PortIndex)> hides;  ///< --filterdownports: selects the down ports that are not printed

  /// Appends the lines of the existing and wanted ports of a node. Each line begins with `prefix`.
  void node(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  void heading(std::string& out, subnet::NodeIndex at, std::string_view prefix = {}) const;
  void port(std::string& out, subnet::PortIndex at, std::string_view prefix = {}) const;
  bool exists(subnet::PortIndex at) const { return subnet_.port(at).is_known(); }
  /// The number of lines that were cut. infiniband-diags cuts lines that are longer than its buffer.
  unsigned cut() const { return cut_; }
  /// The invalid widths that were found. infiniband-diags prints a warning for each.
  const std::vector<unsigned>& bad_widths() const { return bad_widths_; }

 private:
  std::string name(subnet::NodeIndex at) const { return diags_node_name(subnet_.node(at), names_); }
  std::string external(subnet::PortIndex at) const {
    const unsigned number = grouping_.external_port[at];
    return number == 0 ? std::string() : std::to_string(number);
  }
  std::string link(subnet::PortIndex at) const;
  std::string far_end(subnet::PortIndex at) const;

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
  const subnet::Grouping& grouping_;
  mutable unsigned cut_{};
  mutable std::vector<unsigned> bad_widths_;
};

// iblinkinfo --diff in infiniband-diags' dialect: prints the links that differ from a stored fabric. Lines of the stored fabric begin with
// "< ", lines of the present fabric begin with "> ".

/// The words of --diffcheck, and the comparisons without this option.
DiffOptions link_diff_options();

/// Appends the differences, in the order of the nodes of each side.
void print_link_differences(std::string& out, const DiagsLinks& was, const DiffSide& before, const DiagsLinks& is, const DiffSide& after,
                            const DiffChecks& checks);

}  // namespace ib::tools
