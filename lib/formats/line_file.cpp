// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/line_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"

namespace ib::formats {

namespace {
constexpr std::size_t buffer_size = std::size_t{1} << 16;
static_assert(buffer_size > longest_line + 2);
}  // namespace

std::string at_line(std::string_view path, std::size_t line, std::string_view reason) {
  return fmt::format("{}:{}: {}", harmless_line(path), line, reason);
}

LineFile::LineFile(std::string path) : path_(std::move(path)), fd_(open_regular_file(path_)), buffer_(buffer_size, '\0') {}

bool LineFile::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  for (;;) {
    const ssize_t count = ::read(fd_.get(), buffer_.data() + end_, buffer_.size() - end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SysError(errno, "read", path_);
    end_ += static_cast<std::size_t>(count);
    return count > 0;
  }
}

std::optional<std::string_view> LineFile::next() {
  std::size_t length = 0;
  for (;;) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    length = rest.find('\n', length);
    if (length != std::string_view::npos) break;
    length = rest.size();
    if (length > longest_line + 1) break;
    if (fill()) continue;
    if (begin_ == end_) return std::nullopt;
    break;
  }
  ++number_;
  std::string_view line(buffer_.data() + begin_, length);
  has_end_ = begin_ + length < end_;
  begin_ += length + (has_end_ ? 1 : 0);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > longest_line) throw UsageError(at_line(path_, number_, fmt::format("a line longer than {} bytes", longest_line)));
  return line;
}

}  // namespace ib::formats
