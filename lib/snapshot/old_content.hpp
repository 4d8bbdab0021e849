// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Copies the content of an older snapshot into a new one, and removes keys from answers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/file/sqlite.hpp"

namespace ib::snapshot {

/// The stored_area() of an answer with zeros in the place of each key. Nothing if no key is set.
std::optional<std::vector<std::uint8_t>> without_answer_keys(const AnswerKey& key, Bytes payload);

/// The payload of any row, of a table of the SA too, with zeros in the place of each key. Nothing if no key is set.
std::optional<std::vector<std::uint8_t>> without_keys_of(const AnswerKey& key, Bytes payload);

/// The key in the first columns of a row of raw_answer.
AnswerKey key_in(const Statement& row);

/// Copies the rows of the tables that are read back from one database into another, whose tables are empty. With Keys::hidden without keys.
void copy_content(Database& from, Database& to, Keys keys);

}  // namespace ib::snapshot
