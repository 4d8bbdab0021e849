// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Diagnostics on stderr: `D:` for messages of -d, `W:` for warnings, `E:` for failures. Results are never written here. The
// options of the command decide whether a message is wanted before the message is made. Only log.cpp uses the logging library.
#pragma once

#include <cstdio>
#include <functional>
#include <string_view>

namespace ib::log {

enum class Level { debug, warning, error };

/// Writes `text`. The level's letter comes before the first line; further lines (a decoded packet) stay unchanged. harmless()
/// makes characters visible that could disturb a terminal, because messages repeat words of the command line. Text from the
/// wire must be escaped by the caller, since it may also hold line ends.
void write(Level level, std::string_view text);

/// Sends all later messages to `stream`, which must stay open as long as messages are written. The default is stderr.
void write_to(std::FILE* stream);

/// Before a program writes to stdout or stderr, a line of progress must leave the terminal. Who shows one gives a function here that takes
/// it away; an empty function ends that. write() calls the function itself. All others that write call about_to_write() first.
void before_output(std::function<void()> clear);
void about_to_write();

inline void debug(std::string_view text) { write(Level::debug, text); }
inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text) { write(Level::error, text); }

}  // namespace ib::log
