// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a test gives to Task::start() when it waits for nothing: the end of the task has no effect.
#pragma once

#include "async/task.hpp"

namespace ibtest {

struct End final : ib::async::ReadyNode {
  void fire() override {}
};

}  // namespace ibtest
