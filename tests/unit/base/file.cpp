// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files that a user names: what is read, and what is refused instead of waited for.
#include "base/file.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace base_file_tests {

using ib::read_regular_file;
namespace fs = std::filesystem;

namespace {

struct Directory {
  Directory() {
    std::string name = (fs::temp_directory_path() / "ibtool-files.XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string file(const std::string& content) const {
    std::ofstream(path / "file", std::ios::binary) << content;
    return path / "file";
  }
  fs::path path;
};

/// A null device: /dev/null, or one made in `directory` on a machine where /dev/null is a plain file with what was written to it.
std::string null_device(const Directory& directory) {
  if (fs::is_character_file("/dev/null")) return "/dev/null";
  const std::string made = directory.path / "null";
  REQUIRE(::mknod(made.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0);  // Linux: Documentation/admin-guide/devices.txt
  return made;
}

}  // namespace

TEST_CASE("a regular file is read whole, up to its limit", "[file]") {
  const Directory directory;
  std::string content = "a\0b\r\n";
  content.resize(200000, 'x');
  CHECK(read_regular_file(directory.file(content), content.size()) == content);
  CHECK_THROWS_WITH(read_regular_file(directory.file(content), content.size() - 1),
                    "'" + (directory.path / "file").string() + "' is too long: it may have 199999 bytes at most");
  CHECK(read_regular_file(directory.file(""), 0).empty());
  CHECK_FALSE(read_regular_file("/proc/self/status", 1 << 20).empty());  // the kernel says that it has no bytes
}

TEST_CASE("a path that is not a regular file is refused at once, in one line", "[file]") {
  const Directory directory;
  const std::string fifo = directory.path / "fifo", link = directory.path / "link";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_symlink(fifo, link);
  CHECK_THROWS_WITH(read_regular_file(fifo, 100), "'" + fifo + "' is a FIFO or pipe: a regular file is needed");
  CHECK_THROWS_WITH(read_regular_file(link, 100), "'" + link + "' is a FIFO or pipe: a regular file is needed");
  CHECK(read_regular_file(null_device(directory), 100).empty());
  CHECK_THROWS_WITH(read_regular_file("/dev/zero", 100), "'/dev/zero' is a device: a regular file is needed");
  CHECK_THROWS_WITH(read_regular_file("/", 100), "'/' is a directory: a regular file is needed");
  CHECK_THROWS_AS(read_regular_file("/", 100), ib::UsageError);
}

TEST_CASE("a file that can not be opened is a system error", "[file]") {
  try {
    static_cast<void>(read_regular_file("/nonexistent/file", 100));
    FAIL("read a file that is not there");
  } catch (const ib::SysError& error) {
    CHECK(error.code() == ENOENT);
    CHECK(error.message() == "open /nonexistent/file: No such file or directory");
  }
}

}  // namespace base_file_tests
