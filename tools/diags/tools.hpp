// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The entries of the tools of infiniband-diags that the program stands in for, given the words after the name.
#pragma once

#include <span>

namespace ib::diags {

int saquery(std::span<char* const> words);
int sminfo(std::span<char* const> words);

}  // namespace ib::diags
