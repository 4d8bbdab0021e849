// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Builds the model from the records of a subnet administrator. SAs differ, and their records may be outdated. A record that
// names an unknown node, port or LID is therefore not used.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/error.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::subnet {

/// The records of an SA about a subnet, unchanged.
struct SaRecords {
  std::vector<sa::NodeRecord> nodes;
  std::vector<sa::SwitchInfoRecord> switches;
  std::vector<sa::PortInfoRecord> ports;
  std::vector<sa::LinkRecord> links;

  /// A single requested record that did not come.
  struct Miss {
    Lid lid;
    int port = -1;               ///< a port of the node at `lid`, or −1
    bool beyond{};               ///< the node at the other end of `port` is missing
    std::string_view attribute;  ///< name with static storage duration: "PortInfo", …
    std::shared_ptr<const mad::MadError> error;
  };
  std::vector<Miss> misses;
};

/// The start of a model: the end port with this GUID, or else the end port at this LID.
struct SaStart {
  Guid port_guid;
  Lid lid;
};

/// Fills `subnet`, which must be empty, from `records`: nodes, ports, links, and the shortest routes from the start. The start
/// is none if no record names it. Returns the contradictions, sorted.
Failures build(const SaRecords& records, const SaStart& start, Subnet& subnet);

/// Returns a Failure for each port of a switch and each linked port without PortInfo, and for each port that is up but has no
/// link. For records that should be complete, as far as `needs` says.
Failures find_gaps(const Subnet& subnet, const DiscoverNeeds& needs = {});

}  // namespace ib::subnet
