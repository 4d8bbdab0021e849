// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How commands survey many ports.
#pragma once

#include <optional>
#include <string>

#include "subnet/sweep/survey.hpp"

namespace ib::tools {

class Stack;

/// The options of a survey that reports its progress in ports.
subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way);
/// The options of a survey by GMPs. It uses `paths`, which must outlive the survey.
subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths);
/// Finds out whose counters are read (ReadingPlan::owners), past caches; with --sa the SA says who has a LID. Null with --from.
mad::Transactor* owner_transactor(Stack& stack);
/// That Transactor for a single reading of nodes of a file, which may have other LIDs by now; null for a fabric that was just read.
mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache);

}  // namespace ib::tools
