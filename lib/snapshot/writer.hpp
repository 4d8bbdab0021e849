// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes a snapshot, also as a Transactor that stores what it passes on. The file takes the place of an older one at commit(), when
// everything is in it. A writer that is destroyed before leaves the older one as it was. Every function throws Error with one sentence if
// the file cannot be written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.hpp"
#include "base/keys.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/file/new_file.hpp"
#include "snapshot/file/sqlite.hpp"
#include "snapshot/format.hpp"
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

  /// Stores a fact: what the file is about (format.hpp).
  void put_fact(std::string_view name, std::string_view value) { fact_->bind(1, name).bind(2, value).run(); }
  /// Stores the host's device of `port`, by which the fabric is read.
  void put_origin(const sys::EndPort& port);
  /// Stores the model: nodes, ports, links and what the sweep could not read.
  void put_fabric(const subnet::SweptSubnet& fabric);
  /// Stores the present time as the time of the model, because commit() may come much later.
  void put_end();
  /// Stores that the part `name` of `ibtool snapshot` was read.
  void put_part(std::string_view name) { put_fact(std::string("part ").append(name), "read"); }
  /// Stores an answer: the stored_area() of the reply.
  void put_answer(const AnswerKey& key, Bytes payload);
  /// Stores a table of the SA: the whole reply.
  void put_table(const QueryInfo& table, const mad::Reply& reply);
  /// Stores that a request was not answered, or refused.
  void put_failure(const AnswerKey& key, const mad::MadError& error);
  /// Stores the answer to, or the failure of, a request. `subnet` is the model of put_fabric(). Does nothing if the request is not a Get to
  /// a node of the model.
  void put_result(const subnet::Subnet& subnet, const mad::Request& request, const mad::Result<mad::Reply>& result);

  /// How many answers are stored, with the answers of the model.
  std::uint64_t answers() const { return answers_; }
  /// commit() leaves the file that it replaces as FILE~. Throws UsageError if there is something at FILE~ that must not be replaced.
  void keep_old() { file_.keep_old(); }
  /// Writes the tables for people, puts the file on disk and gives it its name. Returns its size in bytes. The time of the model is the
  /// time of put_end() or of the older file, else now.
  std::uint64_t commit();

 private:
  /// A row whose payload is stored as it is. `hides_key`: a key in it was set, and was made zero.
  void put_row(const AnswerKey& key, std::int64_t status, Bytes payload, bool hides_key = false);
  void put_attribute(std::uint16_t attribute, subnet::NodeIndex node, Bytes payload);
  void put_nodes(const subnet::Subnet& subnet);
  void put_ports(const subnet::Subnet& subnet);
  void put_failures(const subnet::Failures& failures);
  std::vector<std::uint8_t> stored_mad(Bytes mad) const;
  std::int64_t now() const { return stored_time(clock_.wall_time()); }

  Keys keys_;
  const async::Clock& clock_;
  NewFile file_;
  std::optional<Database> database_;
  std::optional<Statement> fact_, answer_;
  std::uint64_t answers_{};
  bool has_end_{};
};

/// A Transactor that stores the answer to, or the failure of, every Get that it passes on to a node of the model. Tables of the SA are
/// stored by the code that reads them (Writer::put_table()).
class Recording final : public mad::Layer {
 public:
  /// `subnet` is the model that `writer` has; it must not grow, and both must live as long as requests are passed on.
  Recording(mad::Transactor& below, const subnet::Subnet& subnet, Writer& writer) : Layer(below), subnet_(subnet), writer_(writer) {}

  /// What was passed on so far.
  struct Counts {
    std::uint64_t requests{}, answered{}, refused{};
  };
  const Counts& counts() const { return counts_; }
  /// Throws the errors of `writer` and of the Transactor below.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  const subnet::Subnet& subnet_;
  Writer& writer_;
  Counts counts_;
};

/// Creates the tables and views that people query (ibtool-snapshot(5)) and fills them from the raw tables, in the open transaction. A table
/// of an attribute has a column for each of its fields, by the names of iba-defs/. Nothing in this program reads them back.
void write_decoded_tables(Database& database);

}  // namespace ib::snapshot
