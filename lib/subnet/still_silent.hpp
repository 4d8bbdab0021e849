// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether what did not answer an earlier sweep is still silent. Then the model of that sweep lacks no more than a new one would.
#pragma once

#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/failures.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// Sends each request once more, by one try, that brought no answer (Failure::Kind::no_answer). `failures` are those of the sweep that
/// began at `start` and filled `subnet`. False if there is any answer now, also a refusal, or if the model does not tell what was
/// requested. `subnet` must outlive the task.
async::Task<bool> are_still_silent(mad::Transactor& transactor, const Subnet& subnet, std::vector<Failure> failures, path::Path start);

}  // namespace ib::subnet
