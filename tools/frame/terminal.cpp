// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/frame/world.hpp"

namespace ib::tools {

bool is_terminal(std::FILE* file) {
  const int fd = ::fileno(file);
  return fd >= 0 && ::isatty(fd) == 1;
}

TerminalSize terminal_size(std::FILE* file) {
  if (!is_terminal(file)) return {};
  TerminalSize terminal;
  winsize size{};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0) {
    if (size.ws_col != 0) terminal.width = size.ws_col;
    if (size.ws_row != 0) terminal.height = size.ws_row;
  }
  return terminal;
}

Terminal terminal_of(const World& world) {
  return {terminal_size(world.out), is_terminal(world.out) && !world.no_colours && !world.is_dumb};
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
