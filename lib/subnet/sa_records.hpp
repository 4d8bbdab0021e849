// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From the records of a subnet administrator to the model. The records are of many makers' making and may be stale, so
// none is believed that names a node, a port or a LID which no other record knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/error.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// What an SA says of a subnet, as it came.
struct SaRecords {
  std::vector<sa::NodeRecord> nodes;
  std::vector<sa::SwitchInfoRecord> switches;
  std::vector<sa::PortInfoRecord> ports;
  std::vector<sa::LinkRecord> links;

  /// A record that was asked for by itself and did not come.
  struct Miss {
    Lid lid;
    int port = -1;               ///< of the node at `lid`, or −1
    bool beyond{};               ///< what is missing is the node at the other end of `port`
    std::string_view attribute;  ///< with static storage: "PortInfo", …
    std::shared_ptr<const mad::MadError> error;
  };
  std::vector<Miss> misses;
};

/// Where a model starts: the end port with this GUID, or else the one at this LID.
struct SaStart {
  Guid port_guid;
  Lid lid;
};

/// Fills `subnet`, which must be empty, from `records`: nodes, ports, links, and the shortest routes from the start, which is
/// none where no record knows it. What contradicts itself becomes a Failure.
void build(const SaRecords& records, const SaStart& start, Subnet& subnet);

/// Adds a Failure for each port of a switch, and each linked port, without PortInfo, and for each port that is up without a
/// link: for records that are meant to be all there are.
void find_gaps(Subnet& subnet);

}  // namespace ib::subnet
