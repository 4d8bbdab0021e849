// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What libFuzzer calls, for the one target FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

namespace ibtest::FUZZ_TARGET {
int try_input(const std::uint8_t* data, std::size_t size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return ibtest::FUZZ_TARGET::try_input(data, size); }
