// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading files that a user names: such a file may be missing, of any kind and of any length. Also small files in which a program keeps
// what it needs at its next run, in a directory where others may write too (/tmp, /run): what others have put there is neither read nor
// followed nor written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  void write(std::string_view text) { write(as_bytes(text)); }
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

/// The content of this user's file `path`; nothing if there is no such file. Throws UsageError if it is a symbolic link or not a regular
/// file, belongs to another user, may be written by others, or has more than `limit` bytes; SysError if it cannot be read.
std::optional<std::string> read_private_file(const std::string& path, std::size_t limit);

/// Writes a file with mode 0600 that takes the place of `path` when it is whole. Throws as read_private_file() does for a file that is
/// there, and SysError.
void replace_private_file(const std::string& path, std::string_view content);

}  // namespace ib
