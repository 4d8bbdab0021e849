// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether the nodes that did not answer an earlier sweep are still silent. If so, the model of that sweep is as complete as a new one would
// be.
#pragma once

#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// Sends each unanswered request (Failure::Kind::no_answer) once more, by one try. `failures` are those of the sweep that began at `start`
/// and filled `subnet`. False if there is any answer now, also a refusal, or if the request cannot be found again from the model. `subnet`
/// must outlive the task.
async::Task<bool> are_still_silent(mad::Transactor& transactor, const Subnet& subnet, std::vector<Failure> failures, path::Path start);

}  // namespace ib::subnet
