// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text goes through one growing buffer; standard C's FILE below it only passes the pieces on.
#include "tools/frame/emit.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <iterator>

#include "base/log.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t drain_at = 1U << 16;

}  // namespace

void TextOut::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= drain_at) flush();
}

void TextOut::vprint(fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(buffer_), format, args);
  if (buffer_.size() >= drain_at) flush();
}

void TextOut::flush() {
  if (buffer_.empty()) return;
  was_flushed_ = true;
  if (log_ != nullptr) log_->about_to_write();
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size() && failure_ == 0) failure_ = errno;
  buffer_.clear();
}

bool TextOut::withdraw() {
  if (was_flushed_) return false;
  buffer_.clear();
  return true;
}

void TextOut::push() {
  flush();
  if (std::fflush(file_) != 0 && failure_ == 0) failure_ = errno;
}

void TextOut::finish(std::string_view name) {
  push();
  if (failure_ != 0 && failure_ != EPIPE) throw SysError(failure_, "write", name);
}

void Emit::heading(std::string_view line) {
  if (json() || dialect_ == Dialect::diags) return;
  text_.write(line);
  text_.write("\n");
}

void Emit::raise(Exit status) {
  if (status_ == Exit::ok || (status_ == Exit::incomplete && status == Exit::findings)) status_ = status;
}

}  // namespace ib::tools
