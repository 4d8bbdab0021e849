// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/unique_fd.hpp"

namespace ib::sys {

namespace {

UniqueFd open_to_write(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) throw SysError(errno, "open", path);
  return fd;
}

}  // namespace

std::string sysfs_root() {
  const char* set = secure_getenv("SYSFS_PATH");
  std::string root = set != nullptr && *set != '\0' ? set : "/sys";
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return root;
}

std::optional<std::string> read_attribute(const std::string& path) {
  // O_NONBLOCK: open() must not block if the path is a FIFO.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::array<char, 4096> page{};
  std::size_t size = 0;
  while (size < page.size()) {
    const auto n = ::read(fd.get(), page.data() + size, page.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  std::string_view text(page.data(), size);
  text = trim(text.substr(0, text.find('\0')));
  return std::string(text);
}

void check_writable(const std::string& path) { open_to_write(path); }

void write_attribute(const std::string& path, std::string_view text) {
  const UniqueFd fd = open_to_write(path);
  ssize_t written = 0;
  do {
    written = ::write(fd.get(), text.data(), text.size());  // sysfs takes a value in one write
  } while (written < 0 && errno == EINTR);
  if (written < 0) throw SysError(errno, "write", path);
  if (static_cast<std::size_t>(written) != text.size()) throw SysError(EIO, "write", path);
}

std::string attribute_or_empty(const std::string& path) { return read_attribute(path).value_or(std::string()); }

std::optional<std::uint64_t> index_of(const std::string& name, std::uint64_t limit) {
  const auto number = parse_digits(name, 10);
  return number && *number <= limit && std::to_string(*number) == name ? number : std::nullopt;
}

std::vector<std::string> unsorted_directory(const std::string& path) {
  std::vector<std::string> names;
  dirent** entries = nullptr;
  const int n = ::scandir(path.c_str(), &entries, nullptr, nullptr);
  for (int i = 0; i < n; ++i) {
    if (entries[i]->d_name[0] != '.') names.emplace_back(entries[i]->d_name);
    std::free(entries[i]);
  }
  if (n >= 0) std::free(entries);
  return names;
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names = unsorted_directory(path);
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

}  // namespace ib::sys
