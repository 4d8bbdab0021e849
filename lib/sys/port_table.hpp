// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table of an end port that sysfs shows as one file for each index: its GIDs or its P_Keys. Hosts have thousands of these files, and the
// kernel reads each P_Key from the device. A table is therefore read when it is first used, and does not change after that.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ib::sys {

/// T is Gid or Pkey. Entries that are zero (invalid, IBA 10.9.1.2 for P_Keys) stay in place. Not for several threads at a time.
template <class T>
class PortTable {
 public:
  PortTable() = default;
  PortTable(std::initializer_list<T> entries) : entries_(entries) {}
  PortTable(std::vector<T> entries) : entries_(std::move(entries)) {}
  /// The table in the directory `path`, which ends with a slash. An entry that cannot be read or is invalid counts as zero.
  static PortTable in_directory(std::string path);

  const std::vector<T>& entries() const;
  /// Entry 0, or zero if there is none. Reads no other entry.
  const T& first() const;
  /// Reads no entry.
  bool empty() const;

  std::size_t size() const { return entries().size(); }
  const T& operator[](std::size_t index) const { return entries()[index]; }
  auto begin() const { return entries().begin(); }
  auto end() const { return entries().end(); }

 private:
  mutable std::vector<T> entries_;
  mutable std::string directory_;  // of a table that was not read yet; else empty
  mutable std::optional<T> first_;
};

}  // namespace ib::sys
