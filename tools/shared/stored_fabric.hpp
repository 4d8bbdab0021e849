// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Fabrics in files. The first bytes of a file show its kind: a snapshot of ibtool (snapshot/snapshot.hpp) or a cache of libibnetdisc
// (formats/netdisc_cache.hpp).
//
// A command that can read such a file offers DiscoveryOptions::load_cache, and discover() reads the file instead of the fabric. No end port
// is opened for it. A file that is given besides the fabric itself (--diff, --filterdownports) is read by load_fabric().
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

/// The source that reads `file`. Its read() throws CannotLoad. With FabricWanted::around the model begins at that port.
std::unique_ptr<FabricSource> stored_fabric(const std::string& file);

/// The content of `file`, a cache of libibnetdisc. Throws CannotLoad.
std::shared_ptr<const formats::NetdiscCache> read_cache(const std::string& file);

/// Reads `file` into `fabric`, which must be empty. Throws CannotLoad.
void load_fabric(const std::string& file, Fabric& fabric);

}  // namespace ib::tools
