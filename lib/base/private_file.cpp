// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"

namespace ib {
namespace {

/// Opens a file of this user; an empty fd if there is none. Neither follows a link nor waits for a writer of a FIFO.
UniqueFd open_own(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return fd;
  if (!fd && errno == ELOOP) throw UsageError(fmt::format("{} is a symbolic link, which is not followed", in_quotes(path)));
  if (!fd) throw SysError(errno, "open", path, Exit::usage);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw SysError(errno, "stat", path);
  if (!S_ISREG(status.st_mode)) throw UsageError(fmt::format("{} is not a regular file", in_quotes(path)));
  if (status.st_uid != ::geteuid()) throw UsageError(fmt::format("{} belongs to another user", in_quotes(path)));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) throw UsageError(fmt::format("{} is writable by others", in_quotes(path)));
  return fd;
}

}  // namespace

std::optional<std::string> read_private_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd = open_own(path);
  if (!fd) return std::nullopt;
  return read_all(fd, path, limit);
}

void replace_private_file(const std::string& path, std::string_view content) {
  open_own(path);
  FileReplacement file(path, FileReplacement::Readers::owner);
  file.write(content);
  file.keep();
}

}  // namespace ib
