// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading files that a user names. Such a file may be missing, of any kind and of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/unique_fd.hpp"

namespace ib {

/// Opens the regular file `path` for reading, or /dev/null, which is an empty one. The call never waits. Throws UsageError for a FIFO, a
/// directory or another device, and SysError if the file cannot be opened (Exit::usage).
UniqueFd open_regular_file(const std::string& path);

/// What is left to read of the open file `path`. Throws UsageError if it is more than `limit` bytes, and SysError.
std::string read_all(const UniqueFd& fd, const std::string& path, std::size_t limit);

/// The content of the regular file `path`, which may have at most `limit` bytes; /dev/null is an empty one. The call never waits.
/// Throws UsageError for a FIFO, a directory, another device or a longer file, and SysError if the file cannot be opened
/// (Exit::usage) or read.
std::string read_regular_file(const std::string& path, std::size_t limit);

/// A file that takes the place of another one only when it is whole.
class FileReplacement {
 public:
  enum class Readers : std::uint8_t { all, owner };  ///< whose file it is to read: mode 0644 without the bits of the umask, or 0600
  /// Begins a file beside `path`, under an unpredictable name. Throws SysError, and UsageError if `path` exists and is not a
  /// regular file.
  explicit FileReplacement(std::string path, Readers readers = Readers::all);
  /// Removes the unfinished file, unless keep() was called.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  /// Throws SysError.
  void write(Bytes content);
  void write(std::string_view text) { write(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())); }
  /// Renames the file to `path`. Throws SysError.
  void keep();

 private:
  std::string path_, unfinished_;
  UniqueFd fd_;
  bool is_kept_{};
};

/// Writes `content` to the file `path`, which all users may read. An existing regular file is replaced only after everything is
/// written, and stays unchanged on failure. Throws SysError, and UsageError if `path` is not a regular file.
void replace_file(const std::string& path, Bytes content);

}  // namespace ib
