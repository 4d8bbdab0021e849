// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What tests run beside ibtool: servers on a simulated fabric, and programs that print what a test compares. They are one program, which is
// told by its first word what to do: its objects would cost more than half a minute to build one by one. Each has a namespace of its own.
#pragma once

namespace ibtest::programs {

namespace ask_opensm {
int run(int argc, char** argv);  ///< argv[0] is the word; returns the exit status
}
namespace made_page {
int run(int argc, char** argv);
}
namespace serve_congestion {
int run(int argc, char** argv);
}
namespace serve_guest {
int run(int argc, char** argv);
}
namespace serve_performance {
int run(int argc, char** argv);
}
namespace serve_sa {
int run(int argc, char** argv);
}
namespace serve_vendor {
int run(int argc, char** argv);
}
namespace stored_names {
int run(int argc, char** argv);
}
namespace stored_tables {
int run(int argc, char** argv);
}
namespace tables {
int run(int argc, char** argv);
}

}  // namespace ibtest::programs
