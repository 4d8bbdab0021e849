// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Diagnostics on stderr: `D:` for messages of -d, `W:` for warnings, `E:` for failures. Results are never written here. The
// options of the command decide whether a message is wanted before the message is made. Only log.cpp uses the logging library.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::log {

enum class Level { debug, warning, error };

/// Writes `text` after the level's letter. Characters that could disturb a terminal are made visible, because messages repeat words of the
/// command line and names of files; so are line ends of warnings and errors, which a name could forge further ones with. `lines` (a decoded
/// packet) follow without a letter.
void write(Level level, std::string_view text, const std::vector<std::string>& lines = {});

/// Sends all later messages to `stream`, which must stay open as long as messages are written. The default is stderr.
void write_to(std::FILE* stream);

/// Sets the function that removes a line of progress from the terminal; an empty function means that no line is shown. The line must be
/// removed before anything is written to stdout or stderr. write() calls the function itself; all other writers call about_to_write().
void before_output(std::function<void()> clear);
void about_to_write();

inline void debug(std::string_view text) { write(Level::debug, text); }
inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text, const std::vector<std::string>& lines = {}) { write(Level::error, text, lines); }

}  // namespace ib::log
