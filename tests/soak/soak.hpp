// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Processes that live for months, each a function that throws what did not hold. What they see of themselves.
#pragma once

#include <cstddef>
#include <string>

namespace ibtest::soak {

/// Throws `what` unless it holds.
void must(bool holds, const std::string& what);
std::size_t open_descriptors();
/// Bytes of the heap in use. 0 where a sanitizer has a heap of its own, which finds leaks itself.
std::size_t heap();

namespace exporter {
void run(unsigned rounds);
}
namespace long_running {
void run(unsigned rounds);
}

}  // namespace ibtest::soak
