// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

bool is_terminal(std::FILE* file) {
  const int fd = ::fileno(file);
  return fd >= 0 && ::isatty(fd) == 1;
}

Terminal terminal_size(std::FILE* file) {
  Terminal terminal;
  winsize size{};
  if (is_terminal(file) && ::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0) {
    if (size.ws_col != 0) terminal.width = size.ws_col;
    if (size.ws_row != 0) terminal.height = size.ws_row;
  }
  return terminal;
}

Terminal terminal_of(const World& world) {
  Terminal terminal = terminal_size(world.out);
  terminal.has_colours = is_terminal(world.out) && !world.no_colours && !world.is_dumb;
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

std::string counted(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

bool must_confirm(const World& world, bool agreed, std::string_view otherwise) {
  if (!agreed && !(is_terminal(world.in) && is_terminal(world.err))) throw UsageError(std::string(otherwise));
  return !agreed;
}

void require_agreement(const World& world, std::string_view question) {
  print_on_stderr(world, fmt::format("{} [y/N] ", question));
  std::fflush(world.err);
  const int answer = std::fgetc(world.in);
  if (answer != 'y' && answer != 'Y') throw UsageError("Nothing was set");
}

namespace {

constexpr std::chrono::milliseconds patience{1000}, period{200};
constexpr std::size_t most_columns = 79;
constexpr std::string_view erase = "\x1b[K";  // EL: to the end of the line

}  // namespace

ProgressLine::ProgressLine(async::Loop& loop, const World& world, bool may_show)
    : loop_(loop), file_(world.err), log_(may_show && !world.is_dumb && is_terminal(world.err) ? world.log : nullptr), begin_(loop.now()) {
  if (log_ == nullptr) return;
  loop_.arm(*this, begin_ + patience);
  log_->before_output([this] { interrupt(); });
}

void ProgressLine::stop() {
  if (log_ == nullptr) return;
  disarm();
  clear();
  log_->before_output({});
}

void ProgressLine::count(std::size_t done, std::size_t all, std::string_view unit) {
  done_ = done;
  all_ = all;
  if (unit != unit_) unit_ = unit;
}

async::Task<> ProgressLine::pause(std::size_t done, std::size_t all, std::string_view unit) {
  count(done, all, unit);
  co_await loop_.yield();
}

void ProgressLine::expired() {
  std::fputs(fmt::format("\r{}{}", std::string_view(text()).substr(0, most_columns), erase).c_str(), file_);
  std::fflush(file_);
  is_on_screen_ = true;
  loop_.arm(*this, loop_.now() + period);
}

void ProgressLine::interrupt() {
  clear();
  loop_.arm(*this, loop_.now() + patience);
}

void ProgressLine::clear() {
  if (!std::exchange(is_on_screen_, false)) return;
  std::fputs(fmt::format("\r{}", erase).c_str(), file_);
  std::fflush(file_);
}

std::string ProgressLine::text() const {
  const std::uint64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - begin_).count();
  std::string line;
  if (!unit_.empty()) line = counted(done_) + (all_ != 0 ? " of " + counted(all_) : "") + ' ' + unit_ + ", ";
  if (stats_ != nullptr) {
    line += fmt::format("{} MADs", counted(stats_->sent()));
    if (const std::uint64_t again = stats_->retries_lost + stats_->retries_busy; again != 0 || stats_->timeouts != 0)
      line += fmt::format(" ({} tried again, {} lost)", counted(again), counted(stats_->timeouts));
    if (ms != 0) line += fmt::format(", {}/s", counted(stats_->sent() * 1000 / ms));
    line += ", ";
  }
  return line + fmt::format("{} s", ms / 1000);
}

}  // namespace ib::tools
