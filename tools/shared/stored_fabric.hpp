// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Fabrics in files. What reads one tells the kinds of files apart by their first bytes: snapshots of ibtool (snapshot/snapshot.hpp) and
// caches of libibnetdisc (subnet/netdisc_cache.hpp).
//
// A command that can read one offers DiscoveryOptions::load_cache, and discover() reads the file in the place of the fabric. Nothing is
// opened for it. A file that is given besides the fabric itself (--diff, --filterdownports) is read by load_fabric().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_source.hpp"

namespace ib::tools {

/// A file that holds no fabric, or can not be read. The programs of infiniband-diags have words of their own for it.
class CannotLoad : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The source that reads `file`. Its read() throws CannotLoad. With FabricWanted::around the model begins at that port. With `quiet` it
/// tells nothing.
std::unique_ptr<FabricSource> stored_fabric(const std::string& file, bool quiet);

/// What is in `file`. Throws CannotLoad.
std::shared_ptr<const formats::NetdiscCache> read_cache(const std::string& file);

/// Reads `file` into `fabric`, which must be empty. Throws CannotLoad.
void load_fabric(const std::string& file, Fabric& fabric);

/// Writes `fabric` into a cache of libibnetdisc, in the place of a file of that name. `asks_fdr10`: whether infiniband-diags would have
/// asked for MlnxExtPortInfo. Throws Error where that can not be.
void store_fabric(const Fabric& fabric, bool asks_fdr10, const std::string& file);

/// The nodes in the order in which the programs of infiniband-diags list them: the last found first, a stored fabric as its file has them.
std::vector<subnet::NodeIndex> diags_order(const Fabric& fabric, bool asks_fdr10);

}  // namespace ib::tools
