// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/fabric_diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "tools/frame/diags_words.hpp"

namespace ib::tools {
namespace {

/// Sets `checks` to the checks in `words`, which are divided by commas. Returns the first unknown word.
std::optional<std::string> read_checks(const std::string& words, std::span<const DiffKey> keys, DiffChecks& checks) {
  checks = {};
  for (const std::string_view part : split(words)) {
    if (part.empty()) continue;
    const auto key = std::ranges::find_if(keys, [part](const DiffKey& known) { return equal_ignoring_case(part, known.word); });
    if (key == keys.end()) return std::string(part);
    checks.*key->check = true;
  }
  return std::nullopt;
}

std::string listed(std::span<const DiffKey> keys) {
  return fmt::format("{}", fmt::join(keys | std::views::transform(&DiffKey::word), ", "));
}

}  // namespace

void add_diff(OptionSet& set, DiffOptions& options) {
  set.text("--diff", options.file, "FILE",
           set.is_diags() ? "Print what is different from the fabric in this file of --cache."
                          : "Print what is different from the fabric in this file.");
  const std::string help = fmt::format("What --diff compares: some of {}, between commas.", listed(options.keys));
  set.value("--diffcheck", "KEYS", help, [&options, diags = set.is_diags()](const std::string& words) {
    const auto wrong = read_checks(words, options.keys, options.checks);
    if (wrong && diags) throw DiagsUsage(fmt::format("invalid diff check key: {}\n", *wrong));
    if (wrong) throw OptionError(fmt::format("--diffcheck does not know {}: it takes {}", in_quotes(*wrong), listed(options.keys)));
  });
}

}  // namespace ib::tools
