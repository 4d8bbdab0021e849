// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A snapshot that commands fill as they read (--cache FILE). The first one sweeps the fabric and keeps the model and the answers
// to what it asks beside. Later ones take the model and the answers of SMAs from the file, and add what it does not have yet. GMPs
// (counters) and the SA are always asked.
#pragma once

#include <optional>
#include <string>

#include "mad/transactor.hpp"
#include "snapshot/recording.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "snapshot/writer.hpp"

namespace ib::snapshot {

class Cache final : public mad::Transactor {
 public:
  /// `below` must outlive this object. Nothing is read or written before begin() or use().
  Cache(mad::Transactor& below, std::string file, Keys keys);

  const std::string& file() const { return file_; }
  /// Begins a new file with the model `subnet`. Throws Error if it cannot be written.
  void begin(const subnet::Subnet& subnet);
  /// Uses the existing file. Throws what Snapshot's constructor throws.
  void use();
  /// Writes the file if it is new or something was added. Returns whether it was written.
  bool save();

  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  void write_into(Writer::Begin how, const subnet::Subnet& subnet);

  mad::Transactor& below_;
  Recording recording_;
  std::string file_;
  Keys keys_;
  subnet::Subnet swept_;  ///< of a new file
  std::optional<Snapshot> snapshot_;
  std::optional<SnapshotTransactor> stored_;
  std::optional<Writer> writer_;
};

}  // namespace ib::snapshot
