// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/file/one_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace ib::snapshot {
namespace {

/// The file as SQLite holds it. SQLite allocates it, and knows only the base.
struct OpenFile {
  sqlite3_file base;
  int fd;
};

int fd_of(sqlite3_file* file) { return reinterpret_cast<OpenFile*>(file)->fd; }

int close_file(sqlite3_file* /*file*/) { return SQLITE_OK; }

int read_file(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::pread(fd_of(file), to, static_cast<std::size_t>(size), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SQLITE_IOERR_READ;
    if (count == 0) {
      std::memset(to, 0, static_cast<std::size_t>(size));
      return SQLITE_IOERR_SHORT_READ;
    }
    to += count;
    offset += count;
    size -= static_cast<int>(count);
  }
  return SQLITE_OK;
}

int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::pwrite(fd_of(file), from, static_cast<std::size_t>(size), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 || errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    from += count;
    offset += count;
    size -= static_cast<int>(count);
  }
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return ::ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* /*file*/, int /*flags*/) { return SQLITE_OK; }  // NewFile::keep() puts it on disk

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  struct stat status {};
  if (::fstat(fd_of(file), &status) != 0) return SQLITE_IOERR_FSTAT;
  *size = status.st_size;
  return SQLITE_OK;
}

int no_lock(sqlite3_file* /*file*/, int /*level*/) { return SQLITE_OK; }
int is_reserved(sqlite3_file* /*file*/, int* result) { return *result = 0, SQLITE_OK; }
int no_control(sqlite3_file* /*file*/, int /*operation*/, void* /*argument*/) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* /*file*/) { return 4096; }
int characteristics(sqlite3_file* /*file*/) { return 0; }

/// Version 1: no shared memory, so that a file that says that it has a write-ahead log is refused.
constexpr sqlite3_io_methods methods{1,       close_file, read_file,   write_file, truncate_file, sync_file,       size_of_file,
                                     no_lock, no_lock,    is_reserved, no_control, sector_size,   characteristics, nullptr,
                                     nullptr, nullptr,    nullptr,     nullptr,    nullptr};

int open_file(sqlite3_vfs* vfs, const char* /*name*/, sqlite3_file* file, int flags, int* result_flags) {
  file->pMethods = nullptr;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {  // a journal, or a file for what does not fit into memory
    errno = 0;
    return SQLITE_CANTOPEN;
  }
  new (file) OpenFile{{&methods}, *static_cast<const int*>(vfs->pAppData)};
  if (result_flags != nullptr) *result_flags = flags;
  return SQLITE_OK;
}

int remove_file(sqlite3_vfs* /*vfs*/, const char* /*name*/, int /*sync*/) { return SQLITE_IOERR_DELETE; }
int exists(sqlite3_vfs* /*vfs*/, const char* /*name*/, int /*what*/, int* result) { return *result = 0, SQLITE_OK; }

int full_name(sqlite3_vfs* /*vfs*/, const char* name, int size, char* result) {
  const std::size_t length = std::strlen(name);
  if (length >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(result, name, length + 1);
  return SQLITE_OK;
}

}  // namespace

struct OneFile::Vfs {
  int fd{};
  std::string name;
  sqlite3_vfs vfs{};
};

OneFile::OneFile(int fd) : vfs_(std::make_unique<Vfs>()) {
  const sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  if (usual == nullptr) throw Error("SQLite has no access to files");
  vfs_->fd = fd;
  vfs_->name = fmt::format("ibtool-{}", static_cast<const void*>(this));
  sqlite3_vfs& vfs = vfs_->vfs;
  vfs = *usual;  // its time, its pauses and its random numbers
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.pNext = nullptr;
  vfs.zName = vfs_->name.c_str();
  vfs.pAppData = &vfs_->fd;
  vfs.xOpen = open_file;
  vfs.xDelete = remove_file;
  vfs.xAccess = exists;
  vfs.xFullPathname = full_name;
  if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) throw Error("SQLite refused to register the VFS");
}

OneFile::~OneFile() { sqlite3_vfs_unregister(&vfs_->vfs); }

const char* OneFile::vfs() const { return vfs_->name.c_str(); }

}  // namespace ib::snapshot
