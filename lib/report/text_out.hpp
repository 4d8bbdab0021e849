// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text for a file or a string, in large pieces, so that a forwarding table of 48k entries costs no 48k system calls.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace ib {
class Log;
}

namespace ib::report {

/// Its input must be free of terminal control bytes: text that came from the fabric goes through base/escape.hpp first.
class TextOut {
 public:
  /// `log`, which may share the terminal, is notified before text is written; it may be null. The destructor writes what is left.
  TextOut(std::FILE* file, const Log* log = nullptr) : file_(file), log_(log) {}  // NOLINT: a sink is made from either
  /// Appends to `text`. The functions that hand text on do nothing.
  TextOut(std::string& text) : text_(&text) {}  // NOLINT
  TextOut(TextOut&&) = default;
  ~TextOut() { flush(); }

  void write(std::string_view text);
  template <typename... T>
  void print(fmt::format_string<T...> format, T&&... args) {
    vprint(format, fmt::make_format_args(args...));
  }
  /// Hands the text to the FILE. failure() returns the errno if that fails.
  void flush();
  /// Hands the text to the FILE and to the system, so that a reader has it at once.
  void push();
  /// Does push(), or flush() unless `through`, and throws SysError if that failed (EPIPE, ENOSPC).
  void deliver(bool through = true);
  /// Does push(), and throws SysError if anything that was written so far did not reach the file (a full disk). `name` is the name of the
  /// file in the message. A closed pipe (`| head`) is not an error.
  void finish(std::string_view name = "standard output");
  /// Drops what is pending for a file. Returns false, and does nothing, if a part of it was flushed already.
  bool withdraw();
  /// Null: the text goes to a string.
  std::FILE* file() const { return file_; }
  /// The errno of the first write that failed, else 0.
  int failure() const { return failure_; }
  /// The string, or what is pending for the file, to append to directly; call write({}) now and then so that it drains.
  std::string& buffer() { return text_ != nullptr ? *text_ : pending_; }

 private:
  void vprint(fmt::string_view format, fmt::format_args args);

  std::string* text_{};
  std::FILE* file_{};
  const Log* log_{};
  std::string pending_;
  bool was_flushed_{};
  int failure_{};
};

}  // namespace ib::report
