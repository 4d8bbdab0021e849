// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/consent.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/terminal.hpp"

namespace ib::tools {

bool can_confirm(const World& world) { return is_terminal(world.in) && is_terminal(world.err); }

bool agrees(const World& world, std::string_view question) {
  print_on_stderr(world, fmt::format("{} [y/N] ", question));
  std::fflush(world.err);
  const int answer = std::fgetc(world.in);
  return answer == 'y' || answer == 'Y';
}

void require_agreement(const World& world, std::string_view question) {
  if (!agrees(world, question)) throw UsageError("Nothing was set");
}

bool confirms_reset(const World& world, bool agreed) {
  if (!agreed && !can_confirm(world)) {
    throw UsageError("The counters of the whole fabric would be lost: name a TARGET, or give --yes, or --dry-run to see what would be set");
  }
  return !agreed;
}

}  // namespace ib::tools
