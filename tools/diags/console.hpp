// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How the tools of infiniband-diags talk: results on stdout, "ibwarn:" and "ibpanic:" lines with the process id and
// the name of the C function on stderr, and "iberror:" lines - of all things - on stdout. The function names are
// part of the text that sites match; ours are where the recordings have them. What such lines repeat of a user's words is made
// printable here.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "tools/frame/emit.hpp"

namespace ib::diags {

/// The exit status of a failed tool: C's exit(-1).
inline constexpr int failed_status = 255;

/// The tool gives up: "TOOL: iberror: failed: WHAT" on stdout.
class Failure : public std::runtime_error {
 public:
  Failure(std::string function, const std::string& what) : std::runtime_error(what), function_(std::move(function)) {}
  const std::string& function() const { return function_; }

 private:
  std::string function_;
};

/// The tool gives up on an error of the system: "ibpanic: [PID] FUNCTION: WHAT: TEXT OF ERRNO" on stderr.
class Panic : public Failure {
 public:
  Panic(std::string function, const std::string& what, int code) : Failure(std::move(function), what), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// "ibwarn: [PID] FUNCTION: TEXT", with its newline.
std::string warning_line(std::string_view function, std::string_view text);
void warn(std::string_view function, std::string_view text);

/// Writes `text`, made printable, to stderr. False where that does not take it.
bool tell(std::string_view text);

/// The line of a Failure, as stdout gets it; with `debug` it names the function.
std::string failure_line(std::string_view tool, const Failure& failure, bool debug);
/// The line of a Panic, as stderr gets it.
std::string panic_line(const Panic& panic);

/// Hands `out`, the standard output, to the system. Where that does not take it stderr says so for `tool`, and a success becomes a
/// failure. Returns the exit status that `status` comes to.
int finish_output(std::string_view tool, tools::TextOut& out, int status);

/// Bytes in lines of eight words of two, lower-case; a blank ends the last line where it is not full.
std::string hex_words(Bytes bytes);

}  // namespace ib::diags
