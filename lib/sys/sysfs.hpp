// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads sysfs and writes a few of its attributes. Attributes come and go with the hardware, so an attribute that cannot be read
// counts as absent. Only open(), read(), write(), close() and scandir() are used, on absolute paths: a preload library that
// replaces umad redirects these calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::sys {

/// The mount point of sysfs: $SYSFS_PATH if set (ignored in a set-user-ID program), else /sys.
std::string sysfs_root();

/// The content of `path` without leading and trailing blanks, cut at the first NUL and after 4 KiB (the page size of sysfs).
/// Nothing if it cannot be read.
std::optional<std::string> read_attribute(const std::string& path);

/// Throws the SysError of write_attribute() if `path` cannot be opened for writing.
void check_writable(const std::string& path);

/// Writes `text` to the attribute `path`, which must exist. Throws SysError.
void write_attribute(const std::string& path, std::string_view text);

/// Like read_attribute(), but gives empty text for an absent attribute.
std::string attribute_or_empty(const std::string& path);

/// The number in a file or directory name as the kernel writes it: without sign or leading zero. Nothing for other names, and for numbers
/// above `limit`.
std::optional<std::uint64_t> index_of(const std::string& name, std::uint64_t limit);

/// The entries of the directory `path` in the order of the kernel, without those that begin with a dot. Empty if the directory
/// cannot be read.
std::vector<std::string> unsorted_directory(const std::string& path);
/// The entries of the directory `path` in natural order (mlx5_2 before mlx5_10), without those that begin with a dot. Empty if the
/// directory cannot be read.
std::vector<std::string> list_directory(const std::string& path);

}  // namespace ib::sys
