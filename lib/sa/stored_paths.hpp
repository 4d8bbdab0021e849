// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Queries for paths, answered from the stored table of the paths from this end port. A subnet administrator computes a path for each query.
// Here a query selects stored paths as it selects records of any other table: what it says of MTU, rate and life time is compared with
// those of the stored paths, which are the greatest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mad/request.hpp"
#include "sa/record_rows.hpp"
#include "sys/device.hpp"

namespace ib::sa {

/// Why `rows`, the PathRecords whose SGID is the default GID of `end_port`, cannot answer `request`, as a sentence. `has_qos` says whether
/// paths depend on a service or QoS class; nothing if that is not known.
std::optional<std::string> not_in_paths(const mad::Request& request, const RecordRows& rows, const sys::EndPort& end_port,
                                        std::optional<bool> has_qos);

/// The paths that answer a request that not_in_paths() accepts, in the order of the table: for a SubnAdmGet the first one, else of each
/// pair of GIDs as many as NumbPath says.
std::vector<Bytes> matching_paths(const mad::Request& request, const RecordRows& rows);

}  // namespace ib::sa
