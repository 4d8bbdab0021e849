// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/fabric_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "tools/frame/diags_words.hpp"

namespace ib::tools {
namespace {

std::string listed(std::span<const DiffKey> keys) { return joined(keys | std::views::transform(&DiffKey::word), ", "); }

}  // namespace

void add_diff(OptionSet& set, DiffOptions& options) {
  set.text("--diff", options.file, "FILE",
           set.is_diags() ? "Print what is different from the fabric in this file of --cache."
                          : "Print what is different from the fabric in this file.");
  const std::string help = fmt::format("What --diff compares: some of {}, between commas.", listed(options.keys));
  set.value("--diffcheck", "KEYS", help, [&options, diags = set.is_diags()](const std::string& words) {
    options.checks = {};
    for (const std::string_view part : split(words)) {
      const auto key = std::ranges::find_if(options.keys, [part](const DiffKey& known) { return equal_ignoring_case(part, known.word); });
      if (key != options.keys.end()) {
        options.checks.*key->check = true;
      } else if (!part.empty()) {
        if (diags) throw DiagsUsage(fmt::format("invalid diff check key: {}\n", part));
        throw OptionError(fmt::format("--diffcheck does not know {}: it takes {}", in_quotes(part), listed(options.keys)));
      }
    }
  });
}

}  // namespace ib::tools
