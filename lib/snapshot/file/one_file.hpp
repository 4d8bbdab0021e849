// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A file system (VFS) for SQLite that has one file, which is open already, and nothing else. No name is looked up. A journal that somebody
// put beside the file is therefore not read, rolled back or removed, and renamed files have no effect. No lock is taken: a snapshot gets
// its name when it is whole and is never changed afterwards, and the locks of SQLite would meet those of NewFile where both are of one kind
// (NFS, Lustre).
#pragma once

#include <memory>

namespace ib::snapshot {

class OneFile {
 public:
  /// `fd` must stay open as long as this object exists. Throws Error if SQLite does not take it.
  explicit OneFile(int fd);
  /// No database may use it any more.
  ~OneFile();
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  /// The name of the VFS for sqlite3_open_v2(). The name of the file does not matter to it.
  const char* vfs() const;

 private:
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace ib::snapshot
