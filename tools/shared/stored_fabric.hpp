// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabrics of files (snapshot::open_fabric()) as the commands use them.
//
// A command that can read a file in place of the fabric offers DiscoveryOptions::load_cache, and discover() reads the file. No end port is
// opened for it. A file that is given besides the fabric itself (--diff, --filterdownports, --topology) is read by load_fabric().
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_source.hpp"

namespace ib::tools {

/// A file that does not hold a fabric, or cannot be read. The programs of infiniband-diags have their own message for it.
class CannotLoad : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The source that reads the file of --load-cache. Its read() throws CannotLoad. With FabricWanted::around the model begins at that port.
std::unique_ptr<FabricSource> stored_fabric(const std::string& file);
/// As above, for the open file of --from, which `session` has.
std::unique_ptr<FabricSource> stored_fabric(Host& host);

/// Whether a fabric is known from a listing alone (subnet::Node::is_listed): the states of its ports were not read.
bool is_listing(const Fabric& fabric);

/// Reads `file` into `fabric`, which must be empty. Throws CannotLoad.
void load_fabric(const std::string& file, Fabric& fabric);
/// As above, for the programs of infiniband-diags: topology text, which these do not read, is not a fabric.
void load_diags_fabric(const std::string& file, Fabric& fabric);

}  // namespace ib::tools
