// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include <memory>

namespace ib::tools {

class Command;
/// infiniband-diags' iblinkinfo.
std::unique_ptr<Command> make_iblinkinfo_diags();

}  // namespace ib::tools
