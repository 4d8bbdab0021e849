// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of SQLite that this layer calls. The library is loaded at the first call (base/loaded_library.hpp).
#include <sqlite3.h>

#include <cstdarg>

#include "base/loaded_library.hpp"

namespace {

constexpr ib::LoadedLibrary library{"libsqlite3.so.0", "libsqlite3-0"};

template <auto declared, class... Arguments>
auto call(const char* name, Arguments... arguments) {
  return ib::passed_on<declared, library>(name, arguments...);
}

}  // namespace

extern "C" {

int sqlite3_open_v2(const char* file, sqlite3** database, int flags, const char* vfs) {
  return call<sqlite3_open_v2>("sqlite3_open_v2", file, database, flags, vfs);
}

sqlite3_vfs* sqlite3_vfs_find(const char* name) { return call<sqlite3_vfs_find>("sqlite3_vfs_find", name); }
int sqlite3_vfs_register(sqlite3_vfs* vfs, int is_default) { return call<sqlite3_vfs_register>("sqlite3_vfs_register", vfs, is_default); }
int sqlite3_vfs_unregister(sqlite3_vfs* vfs) { return call<sqlite3_vfs_unregister>("sqlite3_vfs_unregister", vfs); }
int sqlite3_close_v2(sqlite3* database) { return call<sqlite3_close_v2>("sqlite3_close_v2", database); }
int sqlite3_limit(sqlite3* database, int id, int value) { return call<sqlite3_limit>("sqlite3_limit", database, id, value); }

// Only for the settings that take an int and an int*.
int sqlite3_db_config(sqlite3* database, int setting, ...) {
  va_list arguments;
  va_start(arguments, setting);
  const int value = va_arg(arguments, int);
  int* const result = va_arg(arguments, int*);
  va_end(arguments);
  return call<sqlite3_db_config>("sqlite3_db_config", database, setting, value, result);
}

int sqlite3_extended_errcode(sqlite3* database) { return call<sqlite3_extended_errcode>("sqlite3_extended_errcode", database); }
int sqlite3_system_errno(sqlite3* database) { return call<sqlite3_system_errno>("sqlite3_system_errno", database); }
const char* sqlite3_errmsg(sqlite3* database) { return call<sqlite3_errmsg>("sqlite3_errmsg", database); }

int sqlite3_exec(sqlite3* database, const char* sql, int (*row)(void*, int, char**, char**), void* argument, char** message) {
  return call<sqlite3_exec>("sqlite3_exec", database, sql, row, argument, message);
}

int sqlite3_prepare_v2(sqlite3* database, const char* sql, int length, sqlite3_stmt** statement, const char** tail) {
  return call<sqlite3_prepare_v2>("sqlite3_prepare_v2", database, sql, length, statement, tail);
}

int sqlite3_step(sqlite3_stmt* statement) { return call<sqlite3_step>("sqlite3_step", statement); }
int sqlite3_reset(sqlite3_stmt* statement) { return call<sqlite3_reset>("sqlite3_reset", statement); }
int sqlite3_stmt_status(sqlite3_stmt* statement, int what, int reset) {
  return call<sqlite3_stmt_status>("sqlite3_stmt_status", statement, what, reset);
}
int sqlite3_finalize(sqlite3_stmt* statement) { return call<sqlite3_finalize>("sqlite3_finalize", statement); }

int sqlite3_bind_int64(sqlite3_stmt* statement, int at, sqlite3_int64 value) {
  return call<sqlite3_bind_int64>("sqlite3_bind_int64", statement, at, value);
}

int sqlite3_bind_blob(sqlite3_stmt* statement, int at, const void* bytes, int size, void (*destroy)(void*)) {
  return call<sqlite3_bind_blob>("sqlite3_bind_blob", statement, at, bytes, size, destroy);
}

int sqlite3_bind_text(sqlite3_stmt* statement, int at, const char* text, int size, void (*destroy)(void*)) {
  return call<sqlite3_bind_text>("sqlite3_bind_text", statement, at, text, size, destroy);
}

int sqlite3_bind_value(sqlite3_stmt* statement, int at, const sqlite3_value* value) {
  return call<sqlite3_bind_value>("sqlite3_bind_value", statement, at, value);
}

sqlite3_value* sqlite3_column_value(sqlite3_stmt* statement, int at) {
  return call<sqlite3_column_value>("sqlite3_column_value", statement, at);
}
int sqlite3_column_count(sqlite3_stmt* statement) { return call<sqlite3_column_count>("sqlite3_column_count", statement); }

sqlite3_int64 sqlite3_column_int64(sqlite3_stmt* statement, int at) {
  return call<sqlite3_column_int64>("sqlite3_column_int64", statement, at);
}

const void* sqlite3_column_blob(sqlite3_stmt* statement, int at) { return call<sqlite3_column_blob>("sqlite3_column_blob", statement, at); }

int sqlite3_column_bytes(sqlite3_stmt* statement, int at) { return call<sqlite3_column_bytes>("sqlite3_column_bytes", statement, at); }

}  // extern "C"
