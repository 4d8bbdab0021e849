// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A file that gets its name only when it is whole. It is written as FILE.new, which one process at a time may do. A process
// that is killed leaves at most that one file behind, and the next one begins it anew.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace ib::snapshot {

class NewFile {
 public:
  /// Begins a file that is to take the place of `file`: empty, mode 0600. Throws Error if `file` exists and is not a snapshot,
  /// if another process is writing it, or if its directory cannot be written.
  explicit NewFile(std::string file);
  /// Removes what has not got its name.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// The name to write to.
  const std::string& path() const { return path_; }
  /// Puts what the file to be replaced holds into the new one, if there is such a file.
  bool copy_old();
  /// Puts the file on disk and gives it its name. Throws SysError.
  void keep();

 private:
  void lock();

  std::string file_, path_;
  UniqueFd fd_;
  bool kept_{};
};

}  // namespace ib::snapshot
