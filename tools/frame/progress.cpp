// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/progress.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "tools/frame/counted.hpp"

namespace ib::tools {
namespace {

constexpr std::chrono::milliseconds patience{1000}, period{200};

}  // namespace

std::string counted(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

ProgressLine::ProgressLine(async::Loop& loop, const World& world, bool may_show)
    : loop_(loop), log_(may_show ? world.log : nullptr), line_(world.err, !world.is_dumb), begin_(loop.now()) {
  if (!is_shown()) return;
  loop_.arm(*this, begin_ + patience);
  log_->before_output([this] { interrupt(); });
}

void ProgressLine::stop() {
  if (!is_shown()) return;
  disarm();
  line_.clear();
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
  line_.show(text());
  loop_.arm(*this, loop_.now() + period);
}

void ProgressLine::interrupt() {
  line_.clear();
  loop_.arm(*this, loop_.now() + patience);
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
