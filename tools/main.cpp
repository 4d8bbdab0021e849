// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool: one program for the diagnostics of InfiniBand fabrics. What happens is in frame/run.cpp.
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "mad/channel/simulator.hpp"
#include "tools/frame/run.hpp"
#include "tools/frame/world.hpp"

namespace {

/// Opens /dev/null for each closed standard stream. Otherwise the next file or socket would get the number of the stream, and the text.
/// /dev/null is opened in the wrong direction, so that the use of the stream stays an error. False if that fails.
bool occupy_standard_streams() {
  for (const auto& [stream, mode] : {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    if (::open("/dev/null", mode) != stream) return false;  // takes the lowest number that is free
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!occupy_standard_streams()) return static_cast<int>(ib::Exit::failed);
  ib::mad::keep_simulator_quiet();
  return ib::tools::run({argv, static_cast<std::size_t>(argc)}, ib::tools::this_host());
}
