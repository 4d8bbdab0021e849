// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The part `sa` of a snapshot: the tables of the subnet administrator.
#pragma once

#include "snapshot/fabric_survey.hpp"
#include "snapshot/writer.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

/// Reads the tables into `writer`. SurveyedPart counts tables. A table that the SA does not have is refused; one that does not arrive is a
/// failure, and an SA that answers nothing is one failure; then sets `is_silent`, which must outlive the task.
async::Task<snapshot::SurveyedPart> read_sa_part(Stack& stack, snapshot::Writer& writer, bool& is_silent);

}  // namespace ib::tools
