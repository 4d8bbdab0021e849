// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a snapshot. The file may come from anywhere: rows that are read are checked, and a file that contradicts itself is a
// UsageError with one sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/sqlite.hpp"
#include "snapshot/stored_failures.hpp"
#include "subnet/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

/// The outcome of a request when the snapshot was taken.
struct StoredAnswer {
  std::int64_t status{};              ///< see format.hpp
  std::vector<std::uint8_t> payload;  ///< the attribute without the zeros at its end; for the SA the whole reply
  bool hides_key{};                   ///< a key in it is zero, because the snapshot was taken without keys
};

class Snapshot {
 public:
  /// Opens `file`. Throws UsageError if it is not a snapshot, has a newer version, or contains anything that a snapshot does not contain;
  /// SysError if it cannot be opened.
  explicit Snapshot(std::string file);

  const std::string& file() const { return file_; }
  /// The device by which the fabric was read, and the number of its port.
  sys::DeviceList devices();
  unsigned port_number();
  /// Whether keys were stored.
  bool has_keys() const { return has_keys_; }
  /// Whether the file is a cache. Otherwise `ibtool snapshot` made it, and no cache replaces it.
  bool is_cache();
  /// The GUIDs of all nodes. A GUID that several nodes have comes several times.
  std::vector<Guid> node_guids();
  /// Whether the part `name` of `ibtool snapshot` was read.
  bool has_part(std::string_view name);
  /// The whole fabric, and what its sweep could not read. Paths of failures begin at `end_port`.
  subnet::SweptSubnet read_fabric(const sys::EndPort* end_port);
  /// The stored answer to a request, or nothing if the request was not sent.
  std::optional<StoredAnswer> find(const AnswerKey& key);
  /// The stored answer to the same request by another port of the node.
  std::optional<StoredAnswer> find_at_other_port(const AnswerKey& key);
  /// The stored failure which shows that the agent lacks the attribute, for any port or block: it refused the request, or did not answer.
  std::optional<StoredAnswer> find_lack(const AnswerKey& key);
  /// A request to the same agent that was not answered, if the agent answered nothing that every agent of its class has. An SMA is never
  /// silent here: it answered the sweep.
  std::optional<StoredAnswer> find_silence(const AnswerKey& key);
  /// The key of a request to the same agent that was not answered.
  std::optional<AnswerKey> find_unanswered(const AnswerKey& key);

  /// The text of the fact `name`; empty if the file does not have it.
  std::string fact(std::string_view name);
  /// The fact `name` as a number. Nothing if the file does not have it, or if it is not a decimal number.
  std::optional<std::int64_t> number(std::string_view name);
  /// Whether the name still leads to the file that is open here: it was not replaced or removed.
  bool is_in_place() const;
  Database& database() { return *database_; }

 private:
  /// `statement` ready to be bound. It is prepared at the first call.
  Statement& query(std::optional<Statement>& statement, std::string_view conditions);
  StoredFailures& failures();
  std::optional<StoredAnswer> find_one(Statement& row, std::uint8_t mgmt_class) const;
  void check_schema();
  void read_nodes(subnet::Subnet& subnet);
  void read_ports(subnet::Subnet& subnet, const subnet::Failures& failures);
  subnet::Failures read_failures(const subnet::Subnet& subnet, const sys::EndPort* end_port);
  template <class Take>
  void read_answers(std::uint16_t attribute, Take take);
  [[noreturn]] void damaged(std::string_view what) const;
  void check_keys(const AnswerKey& key, Bytes payload) const;
  void check_keys(Bytes mad) const;

  std::string file_;
  bool has_keys_{};
  UniqueFd fd_;
  std::optional<Database> database_;
  std::optional<Statement> find_, find_next_port_, find_reply_;
  std::optional<StoredFailures> failures_;
};

/// Whether `file` begins as a snapshot does. False if it cannot be read.
bool is_snapshot_file(const std::string& file);

}  // namespace ib::snapshot
