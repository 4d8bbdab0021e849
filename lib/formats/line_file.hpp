// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A text file that is read line by line in a fixed amount of memory: the forwarding tables of a large fabric are gigabytes of text. A line
// is read from its front: fixed words and numbers, each either taken whole or left where it is.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/parse.hpp"
#include "base/unique_fd.hpp"
#include "iba/text.hpp"

namespace ib::formats {

/// The longest line of a file in bytes. A heading with a path and a name of 64 escaped bytes has less than a tenth of that.
inline constexpr std::size_t longest_line = 4096;

class LineFile {
 public:
  /// Opens the regular file `path`. Throws as open_regular_file() does.
  explicit LineFile(std::string path);

  /// The next line without its end (LF or CR LF), or nothing at the end of the file. The text is valid until the next call. Throws
  /// UsageError for a line longer than longest_line, and SysError if the file cannot be read.
  std::optional<std::string_view> next();
  /// Whether the line that next() returned last had an end. Only the last line of a file can be without.
  bool has_end() const { return has_end_; }
  /// The number of the line that next() returned last, from 1.
  std::size_t number() const { return number_; }

 private:
  /// Reads more of the file behind what is in the buffer. Returns false at the end of the file.
  bool fill();

  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< the bytes of the buffer that were read and not yet returned
  std::size_t number_ = 0;
  bool has_end_ = true;
};

/// `FILE:LINE: REASON`, on one line whatever the name of the file holds.
std::string at_line(std::string_view path, std::size_t line, std::string_view reason);

/// A GUID in colons, or in hex digits as infiniband-diags has them, with 0x or without.
inline std::optional<Guid> guid_in(std::string_view word) {
  if (word.find(':') != std::string_view::npos || word.starts_with("0x")) return parse_guid(word);
  const auto digits = word.size() <= 16 ? parse_digits(word, 16) : std::nullopt;
  return digits ? std::optional(Guid{*digits}) : std::nullopt;
}

class Scanner {
 public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

  /// Takes `word` if the line goes on with it.
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  /// Takes a number: hexadecimal with 0x, else decimal. Nothing if none stands here, or one above `most`.
  std::optional<std::uint64_t> number(std::uint64_t most) {
    const bool hex = rest_.starts_with("0x") || rest_.starts_with("0X");
    const char* begin = rest_.data() + (hex ? 2 : 0);
    std::uint64_t value = 0;
    const auto end = std::from_chars(begin, rest_.data() + rest_.size(), value, hex ? 16 : 10);
    if (end.ec != std::errc{} || value > most) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
    return value;
  }
  /// Takes the text up to `end`, and `end`. Nothing if the line has none.
  std::optional<std::string_view> until(std::string_view end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view word = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return word;
  }

 private:
  std::string_view rest_;
};

}  // namespace ib::formats
