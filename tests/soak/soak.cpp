// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// soak NAME [ROUNDS]
#include "soak/soak.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace ibtest::soak {

void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  must(directory != nullptr, "no /proc");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

std::size_t heap() {
  const struct mallinfo2 used = ::mallinfo2();
  return used.uordblks + used.hblkhd;
}

}  // namespace ibtest::soak

int main(int argc, char** argv) {
  using namespace ibtest::soak;
  constexpr unsigned usual_rounds = 10000;
  const std::string_view name = argc > 1 ? argv[1] : "";
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : usual_rounds;
  try {
    must(name == "exporter" || name == "long_running", "soak exporter|long_running [ROUNDS]");
    name == "exporter" ? exporter::run(rounds) : long_running::run(rounds);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
