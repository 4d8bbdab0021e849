// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/group.hpp"

namespace ib::async {

Task<> TaskGroup::join() { co_await wait_below(1); }

}  // namespace ib::async
