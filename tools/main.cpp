// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool: one program for the diagnostics of InfiniBand fabrics. What happens is in run.cpp.
#include <cstddef>

#include "tools/run.hpp"

int main(int argc, char** argv) { return ib::tools::run({argv, static_cast<std::size_t>(argc)}); }
