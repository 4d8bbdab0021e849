// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table of commands. It names all of them, since the linker drops objects that register themselves out of a static library.

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "tools/frame/help.hpp"

namespace ib::tools {
namespace {

#define IB_ADDRESS_OF_COMMAND(name) &rooms::name,
constexpr const CommandInfo* command_table[] = {IB_EACH_COMMAND(IB_ADDRESS_OF_COMMAND)};
#undef IB_ADDRESS_OF_COMMAND

}  // namespace

std::span<const CommandInfo* const> commands() { return command_table; }

const CommandInfo* find_command(std::string_view name) {
  const auto is_called = [name](const CommandInfo* command) { return command->name == name || command->alias == name; };
  const auto* const found = name.empty() ? std::end(command_table) : std::ranges::find_if(command_table, is_called);
  return found != std::end(command_table) ? *found : nullptr;
}

UsageError no_such_command(std::string_view name) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string_view> names;
  for (const CommandInfo* command : command_table) names.push_back(command->name);
  std::string hint = " (see ibtool help)";
  const std::string word(name);
  const HelpHits hits = search_help({&word, 1});
  if (!hits.commands.empty()) {
    std::vector<std::string_view> fitting;
    for (const CommandInfo* command : hits.best.empty() ? hits.commands : hits.best) fitting.push_back(command->name);
    fitting.resize(std::min(fitting.size(), most_named));
    hint = fmt::format(": did you mean {}? (ibtool help {} lists what fits)", joined(fitting, ", "), word);
  }
  return UsageError(fmt::format("Bad command {}{}", escaped(name), did_you_mean(name, names, hint)));
}

}  // namespace ib::tools
