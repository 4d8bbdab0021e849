// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Facts on which a query depends besides the records that it selects: which LIDs belong to one port (LMC), which nodes are switches, and
// which ports have extended link speeds. All of this comes from the stored NodeRecords and PortInfoRecords.
#pragma once

#include <vector>

#include "iba/types.hpp"
#include "sa/record_rows.hpp"

namespace ib::sa {

class StoredPorts {
 public:
  /// From the tables of NodeRecords and PortInfoRecords, either of which may be empty.
  StoredPorts(const RecordRows& nodes, const RecordRows& ports);

  /// Whether a port has the LID `lid`. True for every LID if no NodeRecord and no PortInfoRecord is stored.
  bool is_known(Lid lid) const { return empty_ || lids_[lid.value].known; }
  /// The first LID of the port that has `lid`: an SA's records name ports by it. `lid` itself if no port is known to have it.
  Lid base_of(Lid lid) const { return lids_[lid.value].known ? lids_[lid.value].base : lid; }
  bool is_switch(Lid lid) const { return lids_[base_of(lid).value].is_switch; }
  /// Whether the end port at `lid` says that its extended link speeds are valid.
  bool has_extended_speeds(Lid lid) const { return lids_[base_of(lid).value].has_extended_speeds; }

 private:
  struct Entry {
    Lid base;
    bool known = false, is_switch = false, has_extended_speeds = false;
  };
  std::vector<Entry> lids_;
  bool empty_;
};

}  // namespace ib::sa
