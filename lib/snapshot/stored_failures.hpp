// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The failed requests of a snapshot, by agent. The tables have no index for them. Each range of the tables is therefore read once, when it
// is first needed, and not for each request that is looked up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "snapshot/answer_key.hpp"
#include "snapshot/file/sqlite.hpp"

namespace ib::snapshot {

class StoredFailures {
 public:
  explicit StoredFailures(Database& database) : database_(database) {}

  /// The first stored failure which shows that the agent of `key` lacks the attribute: it refused the request, or did not answer. Throws
  /// SqliteError.
  std::optional<AnswerKey> lack(const AnswerKey& key);
  /// The first request to the agent of `key`, in its class, that was not answered. Throws SqliteError.
  std::optional<AnswerKey> unanswered(const AnswerKey& key);

 private:
  /// The first failure of each agent of a class. The key of the map is the node and the entry port of the agent.
  using ByAgent = std::map<std::uint64_t, AnswerKey>;
  static std::uint64_t agent(const AnswerKey& key) { return std::uint64_t{key.node} << 8U | key.entry_port; }
  static std::optional<AnswerKey> find(const ByAgent& failures, const AnswerKey& key);
  ByAgent read(std::string_view conditions, std::uint8_t mgmt_class, std::uint16_t attribute);

  Database& database_;
  std::map<std::pair<std::uint8_t, std::uint16_t>, ByAgent> lacks_;
  std::map<std::uint8_t, ByAgent> silences_;
};

}  // namespace ib::snapshot
