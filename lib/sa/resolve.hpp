// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From an address to a path: what the subnet administrator knows of the way between two end ports.
#pragma once

#include <memory>
#include <string>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::sa {

/// The SA has no path to the address: nobody has it, or its port is not reachable from here.
class PathNotFound : public mad::SaError {
 public:
  using mad::SaError::SaError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// Completes `path`, of which at least the DGID or the DLID must be set: asks the SA for one reversible path
/// (PathRecord, IBA 15.2.5.16) from its SGID, or from the end port's default GID, and takes over LIDs, GIDs, SL, P_Key,
/// MTU, rate, lifetime and the GRH fields. The rest of `path` stays as it is. On RoCE there is no SA to ask: there the DGID
/// must be set, and what is added is the SGID of its subnet and the GRH.
///
/// Throws PathNotFound, another MadError, each with the note "Failed getting path record for path …", or Error where
/// the end port knows no SM, a RoCE target has no GID, or the SA answers with an impossible path.
async::Task<path::Path> resolve_path(mad::Transactor& transactor, const path::Path& path);

/// What resolve_path() does on RoCE, where there is no SA: a port is known by its GIDs, and the kernel has no use for LIDs
/// (IBA annex A17). Throws Error where the path has no DGID.
void complete_roce(path::IbPath& path);

}  // namespace ib::sa
