// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Diagnostics on stderr: `D:` for messages of -d, `W:` for warnings, `E:` for failures. Results are never written here. The
// options of the command decide whether a message is wanted before the message is made. Only log.cpp uses the logging library.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class logger;
}

namespace ib {

/// The diagnostics of one run of the program.
class Log {
 public:
  enum class Level { debug = 1, warning = 3, error = 4 };  ///< numbers of spdlog

  /// `stream` must stay open as long as messages are written.
  explicit Log(std::FILE* stream) : stream_(stream) {}

  /// Writes `text` after the level's letter. Characters that could disturb a terminal are made visible, because messages repeat words of
  /// the command line and names of files; so are line ends of warnings and errors, which a name could forge further ones with. `lines` (a
  /// decoded packet) follow without a letter.
  void write(Level level, std::string_view text, const std::vector<std::string>& lines = {});
  void debug(std::string_view text) { write(Level::debug, text); }
  void warning(std::string_view text) { write(Level::warning, text); }
  void error(std::string_view text, const std::vector<std::string>& lines = {}) { write(Level::error, text, lines); }

  /// Writes `text` as it is, which must be fit for a terminal. Returns false, with errno, where that fails.
  bool print(std::string_view text);

  /// Sets the function that removes a line of progress from the terminal; an empty function means that no line is shown. The line must be
  /// removed before anything is written to stdout or stderr. What writes here calls the function itself; all other writers call
  /// about_to_write().
  void before_output(std::function<void()> clear) { clear_line_ = std::move(clear); }
  void about_to_write() const {
    if (clear_line_) clear_line_();
  }

 private:
  std::FILE* stream_;
  std::shared_ptr<spdlog::logger> logger_;  ///< made for the first message
  std::function<void()> clear_line_;
};

}  // namespace ib
