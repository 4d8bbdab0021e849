// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An SQLite database and its statements as objects. Every failure of SQLite is an error with one sentence: UsageError for a file that is
// read, else Error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace ib::snapshot {

/// One open database file.
class Database {
 public:
  enum class Mode : std::uint8_t { read, write };
  /// Opens the database in the open file `fd`, which messages call `file`. A file opened for reading is treated as hostile: SQLite trusts
  /// nothing in its schema and writes nothing. A file opened for writing has no journal, because it gets its name only when it is
  /// whole. `fd` must stay open as long as this object exists.
  Database(int fd, const std::string& file, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs statements that return no rows.
  void run(const std::string& sql);
  /// Throws the error for the database's last failure.
  [[noreturn]] void fail() const;
  sqlite3* handle() const { return handle_; }

 private:
  class OneFile;

  std::string file_;
  Mode mode_;
  std::unique_ptr<OneFile> one_file_;
  sqlite3* handle_{};
};

/// One prepared statement. It must not outlive its database.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept : database_(other.database_), handle_(std::exchange(other.handle_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;

  /// Binds the parameter ?`at`, counted from 1. Bytes and text must live until the next reset().
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, Bytes value);
  Statement& bind(int at, std::string_view text);
  /// Binds the columns of the row at which `other` stands to ?1, ?2, … .
  Statement& bind_row(const Statement& other);
  /// Goes to the next row. Returns false after the last one.
  bool step();
  /// Makes the statement ready to run again, with its parameters.
  void reset();
  /// Runs a statement that returns no rows, and resets it.
  void run() {
    step();
    reset();
  }

  /// Column `at` of the row, counted from 0. Views are valid until the next step() or reset().
  std::int64_t integer(int at) const;
  Bytes bytes(int at) const;
  std::string_view text(int at) const;
  /// The number of columns.
  int columns() const;

 private:
  Database& database_;
  sqlite3_stmt* handle_{};
};

}  // namespace ib::snapshot
