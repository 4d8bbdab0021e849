// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Command lines of every command, for what is tested of all of them: JSON and tables.
#pragma once

#include <string>
#include <vector>

#include "support/program.hpp"

namespace ibtest {

struct JsonCase {
  std::vector<std::string> words;
  std::string input{};  ///< on stdin
  int status = 0;
};

/// The sample lines with JSON: at least one for each command that prints a result without a device of this host.
const std::vector<JsonCase>& json_cases();
/// Those that fail before there is a result.
std::vector<JsonCase> failing_cases();

/// Runs a case with one more word on a site of its own, as it may change it: two switches, hosts, an SA, and a node that is silent.
Outcome run_json_case(const JsonCase& wanted, const std::string& form);

}  // namespace ibtest
