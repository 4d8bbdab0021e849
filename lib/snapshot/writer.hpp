// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes a snapshot. The file takes the place of an older one at commit(), when everything is in it. A writer that is destroyed
// before leaves the older one as it was. Every function throws Error with one sentence if the file cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/keys.hpp"
#include "mad/error.hpp"
#include "snapshot/answer_key.hpp"
#include "subnet/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

class Snapshot;

class Writer {
 public:
  /// Begins a snapshot that is to be `file`. With Keys::hidden, all keys in it are zero. What `old` holds is put into it, if that is given:
  /// with Keys::hidden without its keys. Only the rows of the tables that are read back are taken from it.
  Writer(const std::string& file, Keys keys, Snapshot* old = nullptr);
  ~Writer();

  /// Stores the host's device of `port`, by which the fabric is read.
  void put_origin(const sys::EndPort& port);
  /// Stores the model: nodes, ports, links and what the sweep could not read.
  void put_fabric(const subnet::SweptSubnet& fabric);
  /// Stores that the sweep of the model asked for MlnxExtPortInfo.
  void put_fdr10();
  /// Stores that the model is as of now, where commit() may come much later.
  void put_end();
  /// Stores that the part `name` of `ibtool snapshot` was read.
  void put_part(std::string_view name);
  /// Stores an answer: the stored_area() of the reply.
  void put_answer(const AnswerKey& key, Bytes payload);
  /// Stores a table of the SA: the whole reply.
  void put_table(const sa::TableInfo& table, const mad::Reply& reply);
  /// Stores that a request was not answered, or refused.
  void put_failure(const AnswerKey& key, const mad::MadError& error);

  /// How many answers are stored, with those of the model.
  std::uint64_t answers() const;
  /// Writes the tables for people, puts the file on disk and gives it its name. Returns its size in bytes. The snapshot ends now, unless
  /// put_end() or an older file said when.
  std::uint64_t commit();

 private:
  class Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace ib::snapshot
