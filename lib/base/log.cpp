// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace ib::log {

namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      break;
  }
  return spdlog::level::err;
}

/// The level's letter: spdlog's own %L prints D, W and E.
spdlog::logger& logger() {
  static const auto instance = [] {
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>(spdlog::color_mode::never);
    auto made = std::make_shared<spdlog::logger>("ibtool", std::move(sink));
    made->set_pattern("%L: %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

/// What a terminal takes for a command: C0 controls but for line ends and tabs, DEL, and C1 controls in UTF-8.
bool is_control(std::string_view text, std::size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (c < 0x20) return c != '\n' && c != '\t';
  const bool c1_lead = at != 0 && static_cast<unsigned char>(text[at - 1]) == 0xc2;
  return c == 0x7f || (c1_lead && c >= 0x80 && c < 0xa0);
}

std::string without_controls(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_control(text, at)) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else {
      shown += text[at];
    }
  }
  return shown;
}

}  // namespace

void write(Level level, std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::string shown = without_controls(text);
  logger().log(to_spdlog(level), spdlog::string_view_t(shown.data(), shown.size()));
}

}  // namespace ib::log
