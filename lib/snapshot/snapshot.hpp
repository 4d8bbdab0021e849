// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a snapshot. The file may come from anywhere: rows that are read are checked, and a file that contradicts itself is a
// UsageError with one sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "snapshot/file/sqlite.hpp"
#include "snapshot/stored_fabric.hpp"

namespace ib::snapshot {

class Snapshot final : public StoredFabric {
 public:
  /// Opens `file`. Throws UsageError if it is not a snapshot, has a newer version, or contains anything that a snapshot does not contain;
  /// SysError if it cannot be opened.
  explicit Snapshot(std::string file);

  sys::DeviceList devices() override;
  unsigned port_number() override;
  bool has_keys() const override { return has_keys_; }
  /// Whether the file is a cache. Otherwise `ibtool snapshot` made it, and no cache replaces it.
  bool is_cache();
  /// The GUIDs of all nodes. A GUID that several nodes have comes several times.
  std::vector<Guid> node_guids();
  bool has_part(std::string_view name) override;
  std::optional<std::int64_t> ended() override { return number("ended"); }
  subnet::SweptSubnet read_fabric(const sys::EndPort* end_port) override;
  std::optional<StoredAnswer> find(const AnswerKey& key) override;
  std::optional<StoredAnswer> find_at_other_port(const AnswerKey& key) override;
  std::optional<StoredAnswer> find_lack(const AnswerKey& key) override;
  std::optional<StoredAnswer> find_silence(const AnswerKey& key) override;
  std::optional<AnswerKey> find_unanswered(const AnswerKey& key) override;

  /// The text of the fact `name`; empty if the file does not have it.
  std::string fact(std::string_view name);
  /// The fact `name` as a number. Nothing if the file does not have it, or if it is not a decimal number.
  std::optional<std::int64_t> number(std::string_view name);
  /// Whether the name still leads to the file that is open here: it was not replaced or removed.
  bool is_in_place() const;
  Database& database() { return *database_; }

 private:
  /// The statement for the answers of the class of `key` that fulfil `conditions`, a literal. ?2 to ?6 in it are the other members of
  /// `key`.
  Statement& query(std::string_view conditions, const AnswerKey& key);
  std::optional<StoredAnswer> answer_in(Statement& row) const;
  void check_schema();
  void read_nodes(subnet::Subnet& subnet);
  void read_ports(subnet::Subnet& subnet, const subnet::Failures& failures);
  subnet::Failures read_failures(const subnet::Subnet& subnet, const sys::EndPort* end_port);
  template <class Take>
  void read_answers(std::uint16_t attribute, Take take);
  [[noreturn]] void damaged(std::string_view what) const;
  void check_keys(const AnswerKey& key, Bytes payload) const;
  void check_keys(Bytes mad) const;

  bool has_keys_{};
  UniqueFd fd_;
  std::optional<Database> database_;
  std::map<std::string_view, Statement> statements_;
  // By attribute and agent, and by agent: what was found.
  std::map<AnswerKey, std::optional<StoredAnswer>> lacks_;
  std::map<AnswerKey, std::optional<AnswerKey>> unanswered_;
};

// The host that took a snapshot: the RDMA device through which it read the fabric, as facts in the file. With them, a command on another
// host selects and names the end port as it would on that host.

/// Stores a fact.
using PutFact = std::function<void(std::string_view name, std::string_view value)>;
/// The value of a fact. Empty if there is none.
using FindFact = std::function<std::string(std::string_view name)>;

/// Stores the device of `port` and its ports: "device node_guid", "device port 1 lid", ….
void put_origin_facts(const sys::EndPort& port, const PutFact& put);

/// The list of the one device that the facts describe. Throws UsageError with a sentence if they describe none.
sys::DeviceList origin_devices(const FindFact& find);

/// Whether `file` begins as a snapshot does. False if it cannot be read.
bool is_snapshot_file(const std::string& file);

}  // namespace ib::snapshot
