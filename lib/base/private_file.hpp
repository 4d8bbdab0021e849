// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Small files in which a program keeps what it needs at its next run, in a directory where others may write too (/tmp, /run). What others
// have put there is neither read nor followed nor written to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ib {

/// The content of `path`; nothing if there is no such file. Throws UsageError if it is a symbolic link or not a regular file, belongs to
/// another user, may be written by others, or has more than `limit` bytes; SysError if it cannot be read.
std::optional<std::string> read_private_file(const std::string& path, std::size_t limit);

/// Writes a file with mode 0600 that takes the place of `path` when it is whole. Throws as read_private_file() does for a file that is
/// there, and SysError.
void replace_private_file(const std::string& path, std::string_view content);

}  // namespace ib
