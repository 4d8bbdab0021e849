// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Where a Sink writes to: a text of the caller, or a file.
#pragma once

#include <cstdio>
#include <string>

namespace ib::report {

/// Collects the text of a document. The text or file of the caller must outlive the object.
class Output {
 public:
  Output(std::string& text) : text_(&text) {}  // NOLINT: a sink is made from either
  Output(std::FILE* file) : file_(file) {}     // NOLINT
  Output(Output&&) = default;
  /// Writes what is pending, without a complaint: the rest of a document that an error cut short.
  ~Output();

  /// The text of the caller, or what is pending for the file.
  std::string& text() { return text_ != nullptr ? *text_ : pending_; }
  /// Writes to the file what is pending, and on to the system if `through`. Throws SysError if that fails (EPIPE, ENOSPC).
  void flush(bool through = true);
  /// Drops what is pending for a file. Returns false, and does nothing, if a part was written already.
  bool withdraw();

 private:
  std::string* text_{};
  std::FILE* file_{};
  std::string pending_;
  bool written_{};
};

}  // namespace ib::report
