// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabric of --baseline.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "health/input.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/health/wanted.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::health {

class StoredBaseline {
 public:
  /// Opens `file`, whose nodes have the names of `names`. Without a name reads nothing. Throws as snapshot::open_fabric() does.
  StoredBaseline(const std::optional<std::string>& file, const subnet::NodeNameMap& names);

  /// Reads what the file has beside its model. Without it that is not compared.
  async::Task<> read_tables();

  /// What was read; null: nothing.
  const Fabric* fabric() const { return fabric_ ? &*fabric_ : nullptr; }
  /// Whether it has counters, of a time before those of the fabric, or of the file of --from.
  bool is_first_reading(Host& host) const;
  /// The differences of `current` from it, which live as long as this object and until the next call; null: nothing was read. Throws
  /// UsageError if it is of another fabric.
  const Baseline* compare(const subnet::Subnet& current);

 private:
  std::unique_ptr<snapshot::StoredFabric> stored_;
  BaselineTables tables_;
  std::optional<Fabric> fabric_;
  std::optional<std::int64_t> counters_time_;  ///< in milliseconds since 1970; absent: it has no counters
  std::optional<Baseline> compared_;
};

}  // namespace ib::tools::health
