// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// M_Keys, SM_Keys, CC_Keys, B_Keys and service keys are secrets: who has a key can change the fabric. Every function that prints packets,
// attributes or paths takes a Keys. The default hides the keys; -K shows them.
#pragma once

namespace ib {

/// Whether secret keys are printed.
enum class Keys : bool { hidden, shown };

}  // namespace ib
