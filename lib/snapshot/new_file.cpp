// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {
namespace {

constexpr mode_t private_mode = 0600;

/// Throws UsageError if there is something at `file` that a snapshot must not replace.
void check_replaceable(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode) && (status.st_size == 0 || is_snapshot_file(file))) return;
  throw UsageError(fmt::format("{} exists and is not a snapshot: it is not replaced", quoted(file)));
}

/// Whether `path` still names the open file `fd`.
bool is_same_file(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

NewFile::NewFile(std::string file) : file_(std::move(file)), path_(file_ + ".new") {
  check_replaceable(file_);
  // Between open() and flock() another process may have given its file the name and be done.
  do {
    lock();
  } while (!is_same_file(fd_.get(), path_));
  struct stat status {};
  const bool ours = ::fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == ::geteuid();
  if (!ours) throw UsageError(fmt::format("{} is in the way: remove it", quoted(path_)));
  if (::ftruncate(fd_.get(), 0) != 0 || ::fchmod(fd_.get(), private_mode) != 0) throw SysError(errno, "write", path_);
}

void NewFile::lock() {
  fd_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, private_mode));
  if (!fd_) throw SysError(errno, "create", path_);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) throw Error(fmt::format("{} is just being written by another process", quoted(file_)));
}

NewFile::~NewFile() {
  if (!kept_) ::unlink(path_.c_str());
}

bool NewFile::copy_old() {
  const UniqueFd old(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!old) return false;
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t count = ::read(old.get(), chunk.data(), chunk.size());
    if (count < 0) throw SysError(errno, "read", file_);
    if (count == 0) return ::lseek(fd_.get(), 0, SEEK_CUR) > 0;
    const ssize_t written = ::write(fd_.get(), chunk.data(), static_cast<std::size_t>(count));
    if (written != count) throw SysError(written < 0 ? errno : ENOSPC, "write", path_);
  }
}

void NewFile::keep() {
  if (::fsync(fd_.get()) != 0) throw SysError(errno, "write", path_);
  if (::rename(path_.c_str(), file_.c_str()) != 0) throw SysError(errno, "replace", file_);
  kept_ = true;
  const std::size_t slash = file_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file_.substr(0, slash + 1);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (fd) ::fsync(fd.get());  // the file is whole; at worst a crash of the host brings the old one back
}

}  // namespace ib::snapshot
