// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The owner of counters. A PMA is requested at a LID, and its answer names no node. LIDs change hands: the subnet manager assigns them
// again, and cables are moved. A reading therefore belongs to a node only if the node at the LID said so in the same round. It is requested
// after the counters, by the same LID: one SMP for each end port. Without that answer the counters are not read, whatever the PMA answered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "iba-gen/smp.hpp"
#include "iba/types.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::counters {

/// Why the NodeInfo is requested, for statistics.
inline constexpr std::string_view owner_of_counters = "whose counters were read";

/// A node, and the port that has a LID.
struct Owner {
  Guid node;
  std::uint8_t port{};  ///< of a channel adapter or a router; 0: all ports share the LID, as of a switch
  bool operator==(const Owner&) const = default;
};

Owner owner_of(const subnet::Subnet& subnet, subnet::PortIndex port);
/// The owner of the LID at which a node has answered with this NodeInfo.
Owner owner_of(const smp::NodeInfo& info);

/// Requests the NodeInfo of the node at the LID of `pma`, the path to a PMA. `smps` must send SMPs to the node itself, and must not answer
/// from a cache. Returns null if that node is `owner`, else subnet::WrongNode or the error of the request.
async::Task<std::shared_ptr<const mad::MadError>> check_owner(mad::Transactor& smps, path::Path pma, Owner owner);

/// Whether a Set was not sent because of the NodeInfo that is requested before it (subnet/set/set_target.hpp): of another node, or not
/// answered. Null: no error.
bool is_of_identity(const mad::MadError* error);
/// Turns the failure of a check_owner() into one of counters that were not read. The node may be well.
void say_not_read(subnet::Failure& failure);
/// The reason why counters were not read, from an error of check_owner(): "LID 5 belongs to 0000:0000:0000:0300 now".
std::string why_not_read(const mad::MadError& error);

}  // namespace ib::counters
