// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/output.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace ib::report {

Output::~Output() {
  if (!pending_.empty()) static_cast<void>(std::fwrite(pending_.data(), 1, pending_.size(), file_));
}

void Output::flush(bool through) {
  if (file_ == nullptr || pending_.empty()) return;
  written_ = true;
  const bool written = std::fwrite(pending_.data(), 1, pending_.size(), file_) == pending_.size() && (!through || std::fflush(file_) == 0);
  const int code = errno;
  pending_.clear();
  if (!written) throw SysError(code, "write", "output");
}

bool Output::withdraw() {
  if (file_ == nullptr || written_) return false;
  pending_.clear();
  return true;
}

}  // namespace ib::report
