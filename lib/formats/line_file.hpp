// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A text file that is read line by line in a fixed amount of memory: the forwarding tables of a large fabric are gigabytes of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

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

}  // namespace ib::formats
