// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The kinds of files in which other programs keep a fabric. snapshot::open_fabric() looks a file up here, and nothing above it names a
// kind.
//
// To add a kind: a room of this folder that fills a FabricFile, and a row in fabric_file.cpp. A kind that holds more than the model, as the
// counters and tables in ibdiagnet's db_csv, gets a member here for these, and snapshot/imported_fabric.cpp answers requests from it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "formats/netdisc_cache.hpp"
#include "subnet/model/failures.hpp"

namespace ib::formats {

/// The store that is filled from a file: the fabric as far as the file holds it. All else stays unread.
struct FabricFile {
  subnet::SweptSubnet fabric;                     ///< with Subnet::start
  std::shared_ptr<const NetdiscCache> netdisc{};  ///< of a cache of libibnetdisc what it holds beside the model; else null
};

/// A kind of file.
struct FabricFormat {
  std::string_view name;  ///< as in "FILE is …": "topology text"
  /// Whether a file of this content is of this kind, by its beginning.
  bool (*is_one)(Bytes file);
  /// Fills `into`, which must be empty. Throws UsageError with a sentence.
  void (*read)(Bytes file, FabricFile& into);
};

/// The kinds, in the order in which a file is compared with them.
std::span<const FabricFormat> fabric_formats();

}  // namespace ib::formats
