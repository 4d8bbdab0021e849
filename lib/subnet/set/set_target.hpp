// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node that a Set is meant for. A path comes from a name, a GUID, the SA or an earlier sweep. Cables may have been moved and LIDs
// assigned again since then. The NodeInfo of the node that is at the end of the path now is therefore requested before the Set.
#pragma once

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

inline constexpr std::string_view identified_before_set = "identity of a node before a Set";

/// An answer came, and it is not the one to the request.
class FalseAnswer : public mad::MadError {
 public:
  using mad::MadError::MadError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// Another node is at the end of a path than the one that the path is meant for.
class WrongNode : public FalseAnswer {
 public:
  using FalseAnswer::FalseAnswer;
  [[noreturn]] void raise() const override { throw *this; }
};

/// The path for SMPs to the end of `path`: a directed route as it is, else the same LIDs on QP 0.
path::Path smp_path_of(const path::Path& path);

/// Whether SMPs can reach the end of `path`: they pass no router and no RoCE port (IBA 14.2.1, annex A17). The GRH of such a path
/// carries the GID that is meant, and no other port takes the packet.
bool takes_smps(const path::Path& path);

/// Requests the NodeInfo of the node at the end of `path` and compares its NodeGUID and PortGUID with IbPath::expected_node_guid; a GUID
/// that is neither may be an alias, which GUIDInfo lists (IBA 14.2.5.5). The last request is always one for NodeInfo: what is set goes out
/// right after it. The result is the NodeInfo. The error is the error of a request, or WrongNode. `transactor` must send SMPs to the node
/// itself. Precondition: takes_smps(path).
async::Task<mad::Result<smp::NodeInfo>> check_set_target(mad::Transactor& transactor, path::Path path);

/// Means `node` by `path` from now on (IbPath::expected_node_guid). If `path` names a node already, by a GUID that was given, that stays: a
/// name, a port GUID or an alias says more than the NodeInfo of whoever has the LID at the moment.
void mean_node(path::Path& path, const smp::NodeInfo& node);

}  // namespace ib::subnet
