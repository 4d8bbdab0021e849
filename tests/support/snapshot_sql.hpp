// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Changes a snapshot behind the program's back.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "base/unique_fd.hpp"
#include "snapshot/file/sqlite.hpp"

namespace ibtest {

/// Runs `sql`, statements that return no rows, on the file.
inline void run_sql(const std::string& file, const std::string& sql) {
  const ib::UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) throw std::runtime_error("no file " + file);
  ib::snapshot::Database database(fd.get(), file, ib::snapshot::Database::Mode::write);
  database.run(sql);
}

/// Gives the fact `name` another value.
inline void set_fact(const std::string& file, const std::string& name, const std::string& value) {
  run_sql(file, fmt::format("INSERT OR REPLACE INTO raw_fact VALUES('{}','{}')", name, value));
}

}  // namespace ibtest
