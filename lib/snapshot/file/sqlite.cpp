// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/file/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace ib::snapshot {
namespace {

/// The greatest size of one value: the table of an SA that lists the forwarding tables of a large subnet.
constexpr int longest_value = 1 << 30;

std::string reason(sqlite3* handle) {
  const int code = sqlite3_extended_errcode(handle) & 0xff;
  const int system = sqlite3_system_errno(handle);
  if (code == SQLITE_FULL) return "no space is left";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return "it is damaged, or no snapshot";
  if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && system != 0) return std::strerror(system);
  return sqlite3_errmsg(handle);
}

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

/// A file system (VFS) for SQLite that has one file, which is open already, and nothing else. No name is looked up. A journal that somebody
/// put beside the file is therefore not read, rolled back or removed, and renamed files have no effect. No lock is taken: a snapshot gets
/// its name when it is whole and is never changed afterwards, and the locks of SQLite would meet the locks of NewFile where both are of one
/// kind (NFS, Lustre).
class Database::OneFile {
 public:
  explicit OneFile(int fd) : fd_(fd), name_(fmt::format("ibtool-{}", static_cast<const void*>(this))) {
    const sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
    if (usual == nullptr) throw Error("SQLite has no access to files");
    vfs_ = *usual;  // its time, its pauses and its random numbers
    vfs_.iVersion = 1;
    vfs_.szOsFile = sizeof(OpenFile);
    vfs_.pNext = nullptr;
    vfs_.zName = name_.c_str();
    vfs_.pAppData = &fd_;
    vfs_.xOpen = open_file;
    vfs_.xDelete = remove_file;
    vfs_.xAccess = exists;
    vfs_.xFullPathname = full_name;
    if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) throw Error("SQLite refused to register the VFS");
  }
  ~OneFile() { sqlite3_vfs_unregister(&vfs_); }
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  /// The name of the VFS for sqlite3_open_v2(). The name of the file does not matter to it.
  const char* name() const { return name_.c_str(); }

 private:
  int fd_;
  std::string name_;
  sqlite3_vfs vfs_{};
};

Database::Database(int fd, const std::string& file, Mode mode) : file_(file), mode_(mode), one_file_(std::make_unique<OneFile>(fd)) {
  const int flags = mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (sqlite3_open_v2("snapshot", &handle_, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, one_file_->name()) != SQLITE_OK) {
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> failed(handle_, sqlite3_close_v2);
    fail();
  }
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value);
  // Nothing in a file may run by itself. This also holds for the copy of an older file to which a writer adds.
  for (const int setting : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER})
    sqlite3_db_config(handle_, setting, 0, nullptr);
  if (mode == Mode::write) {
    run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA "
        "cache_size=-65536");
    return;
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  run("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON");
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::fail() const {
  const std::string text = fmt::format("{}: {}", in_quotes(file_), handle_ != nullptr ? reason(handle_) : "no memory");
  if (mode_ == Mode::read) throw UsageError(text);
  throw Error(text);
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  if (sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &handle_, nullptr) != SQLITE_OK) database.fail();
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(handle_, at, value);
  return *this;
}

Statement& Statement::bind(int at, Bytes value) {
  // A null pointer would bind NULL.
  sqlite3_bind_blob(handle_, at, value.empty() ? static_cast<const void*>("") : value.data(), static_cast<int>(value.size()),
                    SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text(handle_, at, text.empty() ? "" : text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_row(const Statement& other) {
  for (int at = 0; at < other.columns(); ++at) sqlite3_bind_value(handle_, at + 1, sqlite3_column_value(other.handle_, at));
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(handle_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) database_.fail();
  return result == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(handle_); }

std::int64_t Statement::integer(int at) const { return sqlite3_column_int64(handle_, at); }

Bytes Statement::bytes(int at) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_, at));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, at))};
}

std::string_view Statement::text(int at) const { return as_text(bytes(at)); }

int Statement::columns() const { return sqlite3_column_count(handle_); }

}  // namespace ib::snapshot
