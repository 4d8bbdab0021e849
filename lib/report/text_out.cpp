// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text goes through one growing buffer; standard C's FILE below it only passes the pieces on.
#include "report/text_out.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <iterator>

#include "base/error.hpp"
#include "base/log.hpp"

namespace ib::report {
namespace {

constexpr std::size_t drain_at = 1U << 16;

}  // namespace

void TextOut::write(std::string_view text) {
  buffer() += text;
  if (buffer().size() >= drain_at) flush();
}

void TextOut::vprint(fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(buffer()), format, args);
  if (buffer().size() >= drain_at) flush();
}

void TextOut::flush() {
  if (pending_.empty()) return;
  was_flushed_ = true;
  if (log_ != nullptr) log_->about_to_write();
  if (std::fwrite(pending_.data(), 1, pending_.size(), file_) != pending_.size() && failure_ == 0) failure_ = errno;
  pending_.clear();
}

void TextOut::push() {
  flush();
  if (file_ != nullptr && std::fflush(file_) != 0 && failure_ == 0) failure_ = errno;
}

void TextOut::deliver(bool through) {
  through ? push() : flush();
  if (failure_ != 0) throw SysError(failure_, "write", "output");
}

void TextOut::finish(std::string_view name) {
  push();
  if (failure_ != 0 && failure_ != EPIPE) throw SysError(failure_, "write", name);
}

bool TextOut::withdraw() {
  if (file_ == nullptr || was_flushed_) return false;
  pending_.clear();
  return true;
}

}  // namespace ib::report
