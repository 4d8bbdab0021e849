// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace ib::tools {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0;
}

}  // namespace

Terminal terminal_of(std::FILE* file) {
  const int fd = ::fileno(file);
  if (fd < 0 || ::isatty(fd) != 1) return {};
  Terminal terminal;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col != 0) terminal.width = size.ws_col;
    if (size.ws_row != 0) terminal.height = size.ws_row;
  }
  const char* kind = std::getenv("TERM");
  terminal.has_colours = !is_set("NO_COLOR") && !(kind != nullptr && std::string_view(kind) == "dumb");
  return terminal;
}

std::vector<std::string_view> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (text.size() > width) {
    std::size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos) cut = std::min(text.find(' '), text.size());
    lines.push_back(text.substr(0, cut));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  if (!text.empty()) lines.push_back(text);
  return lines;
}

}  // namespace ib::tools
