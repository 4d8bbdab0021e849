// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes the completion script of one shell, for the build to install. It needs nothing of the program but the scripts: in a cross-build it
// runs on the machine that builds.
#include <cstdio>
#include <string_view>

#include "tools/completion/scripts.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& script : ib::tools::completion::scripts()) {
    if (script.shell != std::string_view(argv[1])) continue;
    const std::size_t written = std::fwrite(script.text.data(), 1, script.text.size(), stdout);
    return written == script.text.size() && std::fflush(stdout) == 0 ? 0 : 1;
  }
  return 2;
}
