// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading sysfs, and the few attributes that are written. Attributes come and go with the hardware, so what can not be
// read is simply absent. Only open(), read(), write(), close() and scandir() are used, on absolute paths: these are the
// calls that a preload library in the place of umad redirects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::sys {

/// Where sysfs is mounted: $SYSFS_PATH where it is set (ignored in a set-user-ID program), else /sys.
std::string sysfs_root();

/// The content of `path` without the blanks around it, cut at the first NUL and after 4 KiB (sysfs's page). Nothing if
/// it can not be read.
std::optional<std::string> read_attribute(const std::string& path);

/// Throws the SysError that write_attribute() would, if `path` can not be opened for it.
void check_writable(const std::string& path);

/// Writes `text` to the attribute `path`, which must exist. Throws SysError.
void write_attribute(const std::string& path, std::string_view text);

/// As read_attribute(), but an absent attribute is empty text.
std::string attribute_or_empty(const std::string& path);

/// The entries of the directory `path` in natural order, without those that begin with a dot. Empty if it can not be read.
std::vector<std::string> list_directory(const std::string& path);

}  // namespace ib::sys
