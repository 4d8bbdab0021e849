// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes a snapshot. The file takes the place of an older one at commit(), when everything is in it. A writer that is destroyed
// before leaves the older one as it was. Every function throws Error with one sentence if the file cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/clock.hpp"
#include "base/keys.hpp"
#include "mad/error.hpp"
#include "snapshot/answer_key.hpp"
#include "subnet/model/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

class Snapshot;

/// The clock of this host, for a writer that no loop runs.
inline const async::Clock real_clock{};

class Writer {
 public:
  /// Begins a snapshot that is to be `file`. With Keys::hidden, all keys in it are zero. If `old` is given, its content is copied: only the
  /// rows of the raw tables, and with Keys::hidden without keys. `clock`, which must outlive this object, has the times that are stored.
  Writer(const std::string& file, Keys keys, Snapshot* old = nullptr, const async::Clock& clock = real_clock);
  ~Writer();

  /// Marks the file as a cache. Without this mark it is a snapshot, which no cache replaces.
  void put_cache_mark();
  /// Stores the host's device of `port`, by which the fabric is read.
  void put_origin(const sys::EndPort& port);
  /// Stores the model: nodes, ports, links and what the sweep could not read.
  void put_fabric(const subnet::SweptSubnet& fabric);
  /// Stores that the sweep of the model requested MlnxExtPortInfo.
  void put_fdr10();
  /// Stores the present time as the time of the model, because commit() may come much later.
  void put_end();
  /// Stores that the part `name` of `ibtool snapshot` was read.
  void put_part(std::string_view name);
  /// Stores an answer: the stored_area() of the reply.
  void put_answer(const AnswerKey& key, Bytes payload);
  /// Stores a table of the SA: the whole reply.
  void put_table(const QueryInfo& table, const mad::Reply& reply);
  /// Stores that a request was not answered, or refused.
  void put_failure(const AnswerKey& key, const mad::MadError& error);

  /// How many answers are stored, with those of the model.
  std::uint64_t answers() const;
  /// commit() leaves the file that it replaces as FILE~. Throws UsageError if there is something at FILE~ that must not be replaced.
  void keep_old();
  /// Writes the tables for people, puts the file on disk and gives it its name. Returns its size in bytes. The time of the model is that of
  /// put_end() or of the older file, else now.
  std::uint64_t commit();

 private:
  class Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace ib::snapshot
