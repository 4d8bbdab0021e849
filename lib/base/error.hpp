// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Errors are stacks of messages. The lowest layer says what failed, and each border that knows more adds a note on top. main
// prints the stack with the outermost note first. An error is thrown for what stops an operation. An outcome that a caller
// expects (not found, one dead node in a sweep) is a return value.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keys.hpp"

namespace ib {

/// The exit statuses of ibtool; see "EXIT STATUS" in ibtool(1).
enum class Exit : int { ok = 0, findings = 1, usage = 2, failed = 3, incomplete = 4 };

/// An error as a stack: the innermost message and the notes above it.
class Error : public std::exception {
 public:
  explicit Error(std::string message, Exit exit = Exit::failed) : message_(std::move(message)), exit_(exit) {}

  /// Puts `text` on top of the stack. `text` says what was attempted when the error occurred.
  Error& note(std::string text);

  /// The innermost message, without notes.
  const std::string& message() const { return message_; }
  /// The lines to print at `verbosity` (the count of -v), one entry a line, the outermost note first. Subclasses append their
  /// details: addresses from level 1 on, packets from level 2 on (the lines of a packet start with a blank).
  virtual std::vector<std::string> lines(int verbosity, Keys keys) const;
  std::vector<std::string> lines(int verbosity) const { return lines(verbosity, Keys::hidden); }
  Exit exit_status() const { return exit_; }
  /// The outermost message.
  const char* what() const noexcept override { return notes_.empty() ? message_.c_str() : notes_.back().c_str(); }

 private:
  std::string message_;
  std::vector<std::string> notes_;
  Exit exit_;
};

/// The command line, a file named on the command line, or a value in that file is wrong. Nothing was done.
class UsageError : public Error {
 public:
  explicit UsageError(std::string message) : Error(std::move(message), Exit::usage) {}
};

/// A system call failed: `call` on `object` (a path or a device) ended with `code`, an errno value. Where `object` is a file to be
/// read that was named on the command line, that is a mistake in the command line (Exit::usage).
class SysError : public Error {
 public:
  SysError(int code, std::string_view call, std::string_view object, Exit exit = Exit::failed);
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace ib
