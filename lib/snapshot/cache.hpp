// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A snapshot that commands fill as they read (--cache FILE). The first command sweeps the fabric, and stores the model and the answers to
// its other requests. Later commands take the model and the answers of SMAs from the file, and add the answers that it does not have yet.
// GMPs (counters) and queries to the SA are always sent.
//
// A cache keeps answers and refusals. A request that was not answered is sent again. Before the first request to a LID or to the end of a
// route, also before a stored answer is used, the NodeInfo of the node there is requested once. If that is not the stored node, the fabric
// has changed.
//
// A cache may be used instead of the fabric, and a new file may take the place of an older one, under conditions only: a fabric that is
// seen from a host without a link, or half of a fabric that came apart, is not a successor of the whole one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/once.hpp"
#include "base/keys.hpp"
#include "mad/transactor.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

/// The cache is damaged, or the fabric has changed since it was stored. The fabric must be read again.
class Outdated : public Error {
 public:
  using Error::Error;
};

class Cache final : public mad::Layer {
 public:
  /// Called with the error because of which answers are no longer stored. The requests go on.
  using Lost = std::function<void(const Error& error)>;
  /// `below` and `clock` must outlive this object. Nothing is read or written before begin() or use().
  Cache(mad::Transactor& below, std::string file, Keys keys, Lost lost, const async::Clock& clock = real_clock);

  const std::string& file() const { return file_; }
  /// Begins a new file with `fabric`. `fdr10`: its sweep requested MlnxExtPortInfo.
  void begin(const subnet::SweptSubnet& fabric, bool fdr10);
  /// Uses an existing file. One that is not a cache stays as it is.
  void use(std::unique_ptr<Snapshot> snapshot);
  /// Whether answers come from an existing file.
  bool is_used() const { return stored_.has_value(); }
  /// Writes the file if it is new or something was added. Returns whether it was written.
  bool save();

  /// Throws Outdated if the node at the end of the path is not the node that the file has there, or if the file has no node there.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Task<bool> is_known_at(const path::Path& path);
  mad::Task<bool> check_holder(const path::Path& path);
  std::optional<mad::Result<mad::Reply>> known_answer(const mad::Request& request);
  std::optional<path::Path> by_lid_of(const path::Path& path);
  void add(const mad::Request& request, const mad::Result<mad::Reply>& result);
  template <class Action>
  void write(Action action);

  std::string file_;
  Keys keys_;
  Lost lost_;
  const async::Clock& clock_;
  bool keeps_ = true;     ///< false: writing failed
  subnet::Subnet swept_;  ///< of a new file
  std::unique_ptr<Snapshot> snapshot_;
  std::optional<SnapshotTransactor> stored_;
  std::optional<Writer> writer_;
  async::Once<std::string, bool> known_{
      [](const bool&) { return true; }};  // by the end of a path: the node is the one that the file has there
};

/// Whether there is a file that may be used as a cache; false if it is empty or not there yet. A file of root may be used by all users.
/// Throws Error for a file that is not used, a symbolic link, a file of another user, or one that other users may write; SysError for one
/// that cannot be read, and UsageError for one that is not a snapshot.
bool has_cache_file(const std::string& file);

struct CacheTerms {
  const sys::EndPort& port;  ///< the end port by which the fabric would be read now, as sysfs shows it
  std::chrono::system_clock::time_point now;
  path::Path start;                                   ///< from which the fabric would be swept
  std::chrono::seconds age = std::chrono::hours(24);  ///< the greatest age of the snapshot
  Keys keys = Keys::hidden;                           ///< whether keys are to be known
  bool fdr10{};                                       ///< whether FDR10 is to be known
  bool refresh{};                                     ///< all is to be read again
  /// Opens the Transactor for SMPs to the nodes; null: no SMP may be sent.
  std::function<mad::Transactor&()> smps{};
};

struct CachedFabric {
  std::unique_ptr<Snapshot> snapshot{};  ///< null if the file cannot be opened
  subnet::SweptSubnet fabric{};
  std::string why_unfit{};  ///< why the fabric is not taken from the file; empty: it is
  bool is_damaged{};        ///< that is because the file is damaged
  std::string why_kept{};   ///< then: why a cache must not replace the file, as a sentence; empty: it may
};
/// Reads a cache that has_cache_file(). Requests that were not answered when it was written are sent once more. If one of them is answered
/// now, the fabric is not taken from the file.
async::Task<CachedFabric> read_cache(std::string file, CacheTerms terms);

/// Compares the nodes of the snapshot `file` with the nodes of `seen`, which is to take its place. The file is only read. Throws Error if
/// the file must stay: less than a tenth of its nodes were seen, or none of them. Returns a line for people if it must stay under another
/// name: less than half of its nodes were seen, or it cannot be compared because it is damaged or of a version that is not read. Returns
/// nothing if it may be replaced, or does not exist.
std::optional<std::string> why_old_is_kept(const std::string& file, const subnet::Subnet& seen);

/// When the model was complete: "2026-11-23 20:15:01 +0100".
std::string time_of(Snapshot& snapshot);

}  // namespace ib::snapshot
