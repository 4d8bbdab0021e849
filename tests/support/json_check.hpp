// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON of a command held against the dictionary of keys (man/json_words.hpp) and against iba-defs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ibtest {

using Complaints = std::vector<std::string>;

/// What is wrong with the members of a document, at any depth: keys that are in no dictionary, values of another type, coded values
/// without their word, fields that a structure does not have.
Complaints word_complaints(const nlohmann::json& document);

/// What is wrong with the frame of a document: command, schema, status, and an error where the status is that of a failure.
Complaints frame_complaints(const nlohmann::json& document, const std::string& command, int status);

/// The document whose lines `text` are. Throws std::runtime_error for text that is not the lines of one document.
nlohmann::json joined_lines(const std::string& text);

}  // namespace ibtest
