// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which requests a snapshot has no answer to, by the agent. The tables have no index for that: each range of them is read once, when it is
// first needed, instead of once for each request that is looked up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "snapshot/answer_key.hpp"
#include "snapshot/sqlite.hpp"

namespace ib::snapshot {

class StoredFailures {
 public:
  explicit StoredFailures(Database& database) : database_(database) {}

  /// The first stored failure by which the agent of `key` has no such attribute: it said so, or did not answer. Throws SqliteError.
  std::optional<AnswerKey> lack(const AnswerKey& key);
  /// The first request to the agent of `key`, in its class, that was not answered. Throws SqliteError.
  std::optional<AnswerKey> silence(const AnswerKey& key);
  /// What reading the tables cost so far, in SQLite's instructions.
  std::uint64_t cost() const { return cost_; }

 private:
  /// The first failure of each agent of a class: its node and the port by which it is asked.
  using ByAgent = std::map<std::uint64_t, AnswerKey>;
  static std::uint64_t agent(const AnswerKey& key) { return std::uint64_t{key.node} << 8U | key.entry_port; }
  static std::optional<AnswerKey> find(const ByAgent& failures, const AnswerKey& key);
  ByAgent read(std::string_view conditions, std::uint8_t mgmt_class, std::uint16_t attribute);

  Database& database_;
  std::map<std::pair<std::uint8_t, std::uint16_t>, ByAgent> lacks_;
  std::map<std::uint8_t, ByAgent> silences_;
  std::uint64_t cost_{};
};

}  // namespace ib::snapshot
