// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files of one user, in a directory where others may write.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace base_private_file_tests {

using namespace ib;
using ibtest::contains;

namespace {

constexpr std::size_t limit = 100;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a private file is written whole, only is readable only by its owner, and is replaced") {
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("state");
  CHECK_FALSE(read_private_file(file, limit));
  for (const char* text : {"one", "another"}) {
    replace_private_file(file, text);
    CHECK(read_private_file(file, limit) == text);
  }
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);  // nothing is left beside it
  replace_private_file(file, std::string(limit + 1, 'x'));
  CHECK_THROWS_WITH(read_private_file(file, limit), contains("too long"));
  CHECK_THROWS_AS(replace_private_file(directory.file("no/where"), "x"), SysError);
}

TEST_CASE("files planted by other users are neither read nor written") {
  const ibtest::TemporaryDirectory directory;
  const std::string victim = directory.file("victim"), link = directory.file("link"), fifo = directory.file("fifo");
  std::ofstream(victim) << "precious";
  REQUIRE(::symlink(victim.c_str(), link.c_str()) == 0);
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto refused = [](const std::string& path, const char* why) {
    CHECK_THROWS_WITH(read_private_file(path, limit), contains(why));
    CHECK_THROWS_WITH(replace_private_file(path, "new"), contains(why));
  };
  refused(link, "symbolic link");
  refused(fifo, "not a regular file");
  refused(directory.path(), "not a regular file");
  REQUIRE(::chmod(victim.c_str(), 0622) == 0);
  refused(victim, "is writable by others");
  REQUIRE(::chmod(victim.c_str(), 0600) == 0);
  if (::geteuid() == 0) {  // only root gives files away
    REQUIRE(::chown(victim.c_str(), 12345, 12345) == 0);
    refused(victim, "another user");
  }
  CHECK(text_of(victim) == "precious");
}

}  // namespace base_private_file_tests
