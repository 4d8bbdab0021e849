// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Diagnostics for the person at the terminal, on stderr: `D:` for what -d shows, `W:` for what may matter, `E:` for
// what failed. Results never go here. Whether a message is wanted is decided before it is made, by the options of the
// command. Only log.cpp knows the logging library behind it.
#pragma once

#include <cstdio>
#include <functional>
#include <string_view>

namespace ib::log {

enum class Level { debug, warning, error };

/// Writes `text`, its first line behind the level's letter, further lines (a decoded packet) as they stand. What could
/// disturb a terminal is shown by harmless(), for messages repeat words of the command line; whatever came from the wire must have
/// been escaped before, since it could hold line ends too.
void write(Level level, std::string_view text);

/// Where messages go from now on; stderr at first. `stream` must stay open while messages are written.
void write_to(std::FILE* stream);

/// Before a program writes to stdout or stderr, a line of progress must leave the terminal. Who shows one gives a function here that takes
/// it away; an empty function ends that. write() calls the function itself. All others that write call about_to_write() first.
void before_output(std::function<void()> clear);
void about_to_write();

inline void debug(std::string_view text) { write(Level::debug, text); }
inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text) { write(Level::error, text); }

}  // namespace ib::log
