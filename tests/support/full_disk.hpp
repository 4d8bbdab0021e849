// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A disk without room, which Linux has as the device /dev/full. Where a plain file has that name (a root that was copied with its
// devices left out), tests would fill the real disk.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace ibtest {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Opens a file which refuses each byte with ENOSPC. Throws std::runtime_error where the system has no such device.
inline File open_full_disk() {
  File file(std::fopen("/dev/full", "r+"), std::fclose);
  struct stat found = {};
  if (!file || ::fstat(::fileno(file.get()), &found) != 0 || !S_ISCHR(found.st_mode) || found.st_rdev != makedev(1, 7)) {
    throw std::runtime_error("/dev/full is not the device that refuses each byte (character device 1:7)");
  }
  return file;
}

}  // namespace ibtest
