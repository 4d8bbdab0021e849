// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// `ibtest-programs NAME [ARGUMENT]…`
#include "programs/programs.hpp"

#include <cstdio>
#include <string_view>

namespace {

struct Program {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

namespace all = ibtest::programs;
constexpr Program programs[]{
    {"ask-opensm", all::ask_opensm::run},
    {"made-page", all::made_page::run},
    {"serve-congestion", all::serve_congestion::run},
    {"serve-guest", all::serve_guest::run},
    {"serve-performance", all::serve_performance::run},
    {"serve-sa", all::serve_sa::run},
    {"serve-vendor", all::serve_vendor::run},
    {"stored-names", all::stored_names::run},
    {"stored-tables", all::stored_tables::run},
    {"tables", all::tables::run},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Program& program : programs) {
    if (argc > 1 && program.name == argv[1]) return program.run(argc - 1, argv + 1);
  }
  std::fputs("usage: ibtest-programs NAME [ARGUMENT]..., where NAME is one of:\n", stderr);
  for (const Program& program : programs) std::fprintf(stderr, "  %s\n", program.name.data());
  return 2;
}
