// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Surveys of GMP agents, for commands.
#pragma once

#include <optional>
#include <string>

#include "subnet/sweep/survey.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// The options of a survey by GMPs for a command. It uses `paths`, which must outlive the survey, and reports its progress in ports.
inline subnet::SurveyOptions gmp_survey(Session& session, const subnet::PortPaths& paths) {
  subnet::SurveyOptions options(session.here());
  options.paths = &paths;
  options.progress = [&session](std::size_t done, std::size_t of) { session.progress().count(done, of, "ports"); };
  return options;
}

/// The Transactor that finds out whose counters are read (counters::ReadingPlan::owners): no answer comes from a cache. With --sa it is the
/// SA that says who has a LID. Null with --from.
inline mad::Transactor* owner_transactor(Session& session) {
  if (session.options().from) return nullptr;
  return session.options().use_sa ? &session.transactor() : &session.lowest_transactor();
}

/// That Transactor for a single reading. Nodes of a file, of --load-cache or --cache, may have other LIDs by now. Null for a fabric that
/// was just read.
inline mad::Transactor* owner_transactor(Session& session, const std::optional<std::string>& load_cache) {
  return load_cache || session.uses_cache() ? owner_transactor(session) : nullptr;
}

}  // namespace ib::tools
