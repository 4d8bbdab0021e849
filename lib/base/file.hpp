// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files that a user names: they may be missing, of any kind and of any length.
#pragma once

#include <cstddef>
#include <string>

namespace ib {

/// The content of the regular file `path`, which may have at most `limit` bytes. Does not wait: a FIFO, a directory, a device and a
/// longer file are refused with a UsageError. Throws SysError where the file can not be opened or read.
std::string read_regular_file(const std::string& path, std::size_t limit);

}  // namespace ib
