// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/progress.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
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
