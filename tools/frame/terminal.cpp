// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "tools/frame/diags_words.hpp"
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

std::string counted(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

bool can_confirm(const World& world) { return is_terminal(world.in) && is_terminal(world.err); }

bool agrees(const World& world, std::string_view question) {
  print_on_stderr(world, fmt::format("{} [y/N] ", question));
  std::fflush(world.err);
  const int answer = std::fgetc(world.in);
  return answer == 'y' || answer == 'Y';
}

void require_agreement(const World& world, std::string_view question) {
  if (!agrees(world, question)) throw UsageError("Nothing was set");
}

bool confirms_reset(const World& world, bool agreed) {
  if (!agreed && !can_confirm(world)) {
    throw UsageError("The counters of the whole fabric would be lost: name a TARGET, or give --yes, or --dry-run to see what would be set");
  }
  return !agreed;
}

}  // namespace ib::tools
