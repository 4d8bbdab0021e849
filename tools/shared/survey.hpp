// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Surveys of GMP agents, for commands.
#pragma once

#include <optional>
#include <string>

#include "subnet/sweep/survey.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

/// The options of a survey by GMPs for a command. It uses `paths`, which must outlive the survey, and reports its progress in ports.
inline subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths) {
  subnet::SurveyOptions options(stack.here());
  options.paths = &paths;
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

/// The Transactor that finds out whose counters are read (counters::ReadingPlan::owners): no answer comes from a cache. With --sa it is the
/// SA that says who has a LID. Null with --from.
inline mad::Transactor* owner_transactor(Stack& stack) {
  if (stack.host().options().from) return nullptr;
  return stack.host().options().use_sa ? &stack.transactor() : &stack.lowest_transactor();
}

/// That Transactor for a single reading. Nodes of a file, of --load-cache or --cache, may have other LIDs by now. Null for a fabric that
/// was just read.
inline mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache) {
  return load_cache || stack.uses_cache() ? owner_transactor(stack) : nullptr;
}

}  // namespace ib::tools
