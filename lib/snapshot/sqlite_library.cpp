// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of SQLite that this layer calls. The library is loaded at the first call (base/loaded_library.hpp).
#include <sqlite3.h>

#include <cstdarg>

#include "base/loaded_library.hpp"

namespace {

constexpr ib::LoadedLibrary sqlite{"libsqlite3.so.0", "libsqlite3-0"};

}  // namespace

extern "C" {

int sqlite3_open_v2(const char* file, sqlite3** database, int flags, const char* vfs) {
  return ib::passed_on<sqlite3_open_v2, sqlite>("sqlite3_open_v2", file, database, flags, vfs);
}

sqlite3_vfs* sqlite3_vfs_find(const char* name) { return ib::passed_on<sqlite3_vfs_find, sqlite>("sqlite3_vfs_find", name); }
int sqlite3_vfs_register(sqlite3_vfs* vfs, int is_default) {
  return ib::passed_on<sqlite3_vfs_register, sqlite>("sqlite3_vfs_register", vfs, is_default);
}
int sqlite3_vfs_unregister(sqlite3_vfs* vfs) { return ib::passed_on<sqlite3_vfs_unregister, sqlite>("sqlite3_vfs_unregister", vfs); }
int sqlite3_close_v2(sqlite3* database) { return ib::passed_on<sqlite3_close_v2, sqlite>("sqlite3_close_v2", database); }
int sqlite3_limit(sqlite3* database, int id, int value) {
  return ib::passed_on<sqlite3_limit, sqlite>("sqlite3_limit", database, id, value);
}

// Only for the settings that take an int and an int*.
int sqlite3_db_config(sqlite3* database, int setting, ...) {
  va_list arguments;
  va_start(arguments, setting);
  const int value = va_arg(arguments, int);
  int* const result = va_arg(arguments, int*);
  va_end(arguments);
  return ib::passed_on<sqlite3_db_config, sqlite>("sqlite3_db_config", database, setting, value, result);
}

int sqlite3_extended_errcode(sqlite3* database) {
  return ib::passed_on<sqlite3_extended_errcode, sqlite>("sqlite3_extended_errcode", database);
}
int sqlite3_system_errno(sqlite3* database) { return ib::passed_on<sqlite3_system_errno, sqlite>("sqlite3_system_errno", database); }
const char* sqlite3_errmsg(sqlite3* database) { return ib::passed_on<sqlite3_errmsg, sqlite>("sqlite3_errmsg", database); }

int sqlite3_exec(sqlite3* database, const char* sql, int (*row)(void*, int, char**, char**), void* argument, char** message) {
  return ib::passed_on<sqlite3_exec, sqlite>("sqlite3_exec", database, sql, row, argument, message);
}

int sqlite3_prepare_v2(sqlite3* database, const char* sql, int length, sqlite3_stmt** statement, const char** tail) {
  return ib::passed_on<sqlite3_prepare_v2, sqlite>("sqlite3_prepare_v2", database, sql, length, statement, tail);
}

int sqlite3_step(sqlite3_stmt* statement) { return ib::passed_on<sqlite3_step, sqlite>("sqlite3_step", statement); }
int sqlite3_reset(sqlite3_stmt* statement) { return ib::passed_on<sqlite3_reset, sqlite>("sqlite3_reset", statement); }
int sqlite3_finalize(sqlite3_stmt* statement) { return ib::passed_on<sqlite3_finalize, sqlite>("sqlite3_finalize", statement); }

int sqlite3_bind_int64(sqlite3_stmt* statement, int at, sqlite3_int64 value) {
  return ib::passed_on<sqlite3_bind_int64, sqlite>("sqlite3_bind_int64", statement, at, value);
}

int sqlite3_bind_blob(sqlite3_stmt* statement, int at, const void* bytes, int size, void (*destroy)(void*)) {
  return ib::passed_on<sqlite3_bind_blob, sqlite>("sqlite3_bind_blob", statement, at, bytes, size, destroy);
}

int sqlite3_bind_text(sqlite3_stmt* statement, int at, const char* text, int size, void (*destroy)(void*)) {
  return ib::passed_on<sqlite3_bind_text, sqlite>("sqlite3_bind_text", statement, at, text, size, destroy);
}

int sqlite3_bind_value(sqlite3_stmt* statement, int at, const sqlite3_value* value) {
  return ib::passed_on<sqlite3_bind_value, sqlite>("sqlite3_bind_value", statement, at, value);
}

sqlite3_value* sqlite3_column_value(sqlite3_stmt* statement, int at) {
  return ib::passed_on<sqlite3_column_value, sqlite>("sqlite3_column_value", statement, at);
}
int sqlite3_column_count(sqlite3_stmt* statement) { return ib::passed_on<sqlite3_column_count, sqlite>("sqlite3_column_count", statement); }

sqlite3_int64 sqlite3_column_int64(sqlite3_stmt* statement, int at) {
  return ib::passed_on<sqlite3_column_int64, sqlite>("sqlite3_column_int64", statement, at);
}

const void* sqlite3_column_blob(sqlite3_stmt* statement, int at) {
  return ib::passed_on<sqlite3_column_blob, sqlite>("sqlite3_column_blob", statement, at);
}

int sqlite3_column_bytes(sqlite3_stmt* statement, int at) {
  return ib::passed_on<sqlite3_column_bytes, sqlite>("sqlite3_column_bytes", statement, at);
}

}  // extern "C"
