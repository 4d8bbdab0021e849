// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// M_Keys, SM_Keys, CC_Keys, B_Keys and service keys are secrets: who has one may change the fabric. Everything that prints
// packets, attributes or paths takes a Keys, hides such keys where it is told nothing, and shows them where the user asks (-K).
#pragma once

namespace ib {

enum class Keys : bool { hidden, shown };

}  // namespace ib
