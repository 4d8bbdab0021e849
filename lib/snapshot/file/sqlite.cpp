// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/file/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>

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

}  // namespace

Database::Database(int fd, const std::string& file, Mode mode) : file_(file), one_file_(fd) {
  const int flags = mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (sqlite3_open_v2("snapshot", &handle_, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, one_file_.vfs()) != SQLITE_OK) {
    const std::string why = handle_ != nullptr ? reason(handle_) : "no memory";
    sqlite3_close_v2(handle_);
    throw SqliteError(fmt::format("{}: {}", in_quotes(file), why));
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

void Database::fail() const { throw SqliteError(fmt::format("{}: {}", in_quotes(file_), reason(handle_))); }

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

std::string_view Statement::text(int at) const {
  const Bytes value = bytes(at);
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

int Statement::columns() const { return sqlite3_column_count(handle_); }

}  // namespace ib::snapshot
