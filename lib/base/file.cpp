// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace ib {

namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO or pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a special file";
}

/// Whether the file is /dev/null.
bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);  // Linux: Documentation/admin-guide/devices.txt
}

struct stat status_of(const UniqueFd& fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw SysError(errno, "stat", path);
  return status;
}

/// Opens a file of this user; an empty fd if there is none. Neither follows a link nor waits for a writer of a FIFO.
UniqueFd open_own(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return fd;
  if (!fd && errno == ELOOP) throw UsageError(fmt::format("{} is a symbolic link, which is not followed", in_quotes(path)));
  if (!fd) throw SysError(errno, "open", path, Exit::usage);
  const struct stat status = status_of(fd, path);
  if (!S_ISREG(status.st_mode)) throw UsageError(fmt::format("{} is not a regular file", in_quotes(path)));
  if (status.st_uid != ::geteuid()) throw UsageError(fmt::format("{} belongs to another user", in_quotes(path)));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) throw UsageError(fmt::format("{} is writable by others", in_quotes(path)));
  return fd;
}

}  // namespace

UniqueFd open_regular_file(const std::string& path) {
  // Without O_NONBLOCK, open() of a FIFO would wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) throw SysError(errno, "open", path, Exit::usage);
  const struct stat status = status_of(fd, path);
  if (!S_ISREG(status.st_mode) && !is_null_device(status))
    throw UsageError(fmt::format("'{}' is {}: a regular file is needed", path, kind_of(status.st_mode)));
  return fd;
}

std::string read_all(const UniqueFd& fd, const std::string& path, std::size_t limit) {
  std::string text;
  // The size from fstat() is only where to begin: files in /proc have size 0, and other files may grow.
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && status.st_size > 0) text.reserve(std::min(static_cast<std::size_t>(status.st_size), limit));
  std::array<char, 65536> chunk;  // not cleared: most files are short, and a page that is not used costs nothing
  for (;;) {
    const ssize_t count = ::read(fd.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SysError(errno, "read", path);
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) throw UsageError(fmt::format("'{}' is too long: it may have {} bytes at most", path, limit));
  }
}

std::string read_regular_file(const std::string& path, std::size_t limit) { return read_all(open_regular_file(path), path, limit); }

FileReplacement::FileReplacement(std::string path, Readers readers) : path_(std::move(path)), unfinished_(path_ + ".XXXXXX") {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw UsageError(fmt::format("'{}' is {}: a regular file is needed", path_, kind_of(status.st_mode)));
  fd_.reset(::mkostemp(unfinished_.data(), O_CLOEXEC));  // mode 0600
  if (!fd_) throw SysError(errno, "create", path_);
  if (readers == Readers::owner) return;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_.get(), 0644 & ~mask);  // fails on file systems without modes, where all files are readable as the mount says
}

FileReplacement::~FileReplacement() {
  if (!is_kept_) ::unlink(unfinished_.c_str());
}

void FileReplacement::write(Bytes content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd_.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SysError(errno, "write", path_);
    content = content.subspan(static_cast<std::size_t>(count));
  }
}

void FileReplacement::keep() {
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) throw SysError(errno, "replace", path_);
  is_kept_ = true;
}

void replace_file(const std::string& path, Bytes content) {
  FileReplacement file(path);
  file.write(content);
  file.keep();
}

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
