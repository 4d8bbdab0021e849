// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/escape.hpp"

namespace ib {

namespace {

using Sink = spdlog::sinks::stdout_sink_base<spdlog::details::console_nullmutex>;

/// A logger that puts the letter of the level first: spdlog's %L prints D, W and E.
std::shared_ptr<spdlog::logger> logger_to(std::FILE* stream) {
  auto made = std::make_shared<spdlog::logger>("ibtool", std::make_shared<Sink>(stream));
  made->set_pattern("%L: %v");
  made->set_level(spdlog::level::trace);
  made->flush_on(spdlog::level::trace);
  return made;
}

}  // namespace

void Log::write(Level level, std::string_view text, const std::vector<std::string>& lines) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string shown = level == Level::debug ? harmless(text) : harmless_line(text);
  for (const std::string& line : lines) shown += '\n' + harmless_line(line);
  about_to_write();
  if (!logger_) logger_ = logger_to(stream_);
  logger_->log(static_cast<spdlog::level::level_enum>(level), spdlog::string_view_t(shown.data(), shown.size()));
}

bool Log::print(std::string_view text) {
  about_to_write();
  return std::fwrite(text.data(), 1, text.size(), stream_) == text.size();
}

}  // namespace ib
