// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The conditions under which a stored fabric may be used instead of the fabric at an end port, and those under which a new file may take
// the place of an older one. A fabric that is seen from a host without a link, or half of a fabric that came apart, is not a successor of
// the whole one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/model/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

struct CacheTerms {
  const sys::EndPort& port;  ///< the end port by which the fabric would be read now, as sysfs shows it
  std::chrono::system_clock::time_point now;
  std::chrono::seconds age;  ///< the greatest age of the snapshot
  Keys keys = Keys::hidden;  ///< whether keys are to be known
  bool fdr10{};              ///< whether FDR10 is to be known
};

/// The reason why `snapshot`, whose fabric is `fabric`, cannot be used under these conditions; empty if it can. Sends nothing. The caller
/// must also check that the nodes that did not answer then are still silent: see subnet::are_still_silent().
std::string why_unfit(Snapshot& snapshot, const subnet::SweptSubnet& fabric, const CacheTerms& terms);

/// Why a cache must not replace the file of `snapshot`, as a sentence that names the file and what would replace it; empty if it is a
/// cache. `why` is the reason why the fabric is not taken from it; empty if there is none.
std::string why_not_replaced(Snapshot& snapshot, std::string_view why);
/// As above, for a file that cannot be opened as a snapshot.
std::string not_replaced(const std::string& file, std::string_view why);

/// Compares the nodes of the snapshot `file` with the nodes of `seen`, which is to take its place. The file is only read. Throws Error if
/// the file must stay: less than a tenth of its nodes were seen, or none of them. Returns a line for people if it must stay under another
/// name: less than half of its nodes were seen, or it cannot be compared because it is damaged or of a version that is not read. Returns
/// nothing if it may be replaced, or does not exist.
std::optional<std::string> why_old_is_kept(const std::string& file, const subnet::Subnet& seen);

/// When the model was complete: "2026-11-23 20:15:01 +0100".
std::string time_of(Snapshot& snapshot);

}  // namespace ib::snapshot
