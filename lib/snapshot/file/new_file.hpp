// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A file that gets its name only when it is whole. It is written in the directory FILE.new. Only the owner has access to this directory, so
// that no other user can put a file into it, and one process at a time may use it. A process that ends early, also by a signal, removes
// both. A process that is killed (SIGKILL) leaves at most this directory behind, and the next process uses it again.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace ib::snapshot {

/// Another process is just writing the file.
class BeingWritten : public Error {
 public:
  using Error::Error;
};

class NewFile {
 public:
  /// Begins a file that is to take the place of `file`: empty, mode 0600. Throws UsageError if `file` exists and must not be replaced: it
  /// is not a snapshot, is a symbolic link, or belongs to another user. Throws BeingWritten, and SysError if its directory cannot be
  /// written.
  explicit NewFile(std::string file);
  /// Removes the file if keep() has not given it its name.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// The file to write to.
  int fd() const { return fd_.get(); }
  /// The name of the file in messages.
  const std::string& name() const { return file_; }
  /// keep() leaves the file that it replaces as FILE~. Throws UsageError if there is something at FILE~ that must not be replaced.
  void keep_old();
  /// Puts the file on disk and gives it its name. Throws SysError.
  void keep();

 private:
  class EndedBySignal;
  NewFile(std::string file, std::string directory);  // opens nothing: so that the destructor runs where begin() throws
  void begin();
  void open_directory();
  bool open_file();
  std::string old_name() const { return file_ + '~'; }
  void put_old_aside();

  std::string file_, directory_, name_;
  UniqueFd directory_fd_, fd_;
  bool keeps_old_{};
  bool ours_{};  // the directory and the file, and no other process'
  std::unique_ptr<EndedBySignal> ended_by_signal_;
};

}  // namespace ib::snapshot
