// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The messages of the programs of infiniband-diags: results on stdout, "ibwarn:" and "ibpanic:" lines with the process id and the name of
// the C function on stderr, and "iberror:" lines on stdout. The function names are part of the text that sites match; ours are where the
// recordings have them. Words of the user in such lines are made printable here.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ib::tools {

struct World;

/// The dialect of a run: the texts and the command line that it uses.
enum class Dialect : std::uint8_t {
  ibtool,  ///< `ibtool NAME`
  diags,   ///< the program of infiniband-diags whose name it was called by
};

/// The exit status of a program that failed: C's exit(-1).
inline constexpr int diags_failed = 255;

/// The program gives up: "TOOL: iberror: failed: WHAT" on stdout.
class DiagsFailure : public Error {
 public:
  using Error::Error;
};

/// The program ends at once with `status`, after `text` on stderr.
class DiagsExit : public Error {
 public:
  DiagsExit(int status, std::string text) : Error(std::move(text)), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// The program gives up on an error of the system: "ibpanic: [PID] main: WHAT: TEXT OF ERRNO" on stderr.
class DiagsPanic : public DiagsExit {
 public:
  DiagsPanic(std::string_view what, int code);
};

/// The command line is wrong: `complaint` and the usage text go to stderr, and the status is 2.
class DiagsUsage : public Error {
 public:
  explicit DiagsUsage(std::string complaint = {}) : Error(std::move(complaint)) {}
};

/// Writes `text`, made printable, to `err`. False if the write fails.
bool print_on_stderr(const World& world, std::string_view text);
/// The line "[PID] FUNCTION: TEXT" that programs of infiniband-diags print on stdout with -v.
std::string verbose_line(std::string_view function, std::string_view text);
/// Prints "ibwarn: [PID] FUNCTION: TEXT" on stderr.
void warn(const World& world, std::string_view function, std::string_view text);

/// The line of a DiagsFailure, as stdout gets it.
std::string failure_line(std::string_view program, std::string_view what);

}  // namespace ib::tools
