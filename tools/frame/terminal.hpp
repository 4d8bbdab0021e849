// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The terminal behind a stream, and how text is written for people. A stream that is not a terminal gets whole lines without colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools {

struct World;

struct TerminalSize {
  std::optional<std::size_t> width, height;  ///< columns and lines; absent: the stream is not a terminal, or does not know
};
struct Terminal : TerminalSize {
  bool has_colours{};  ///< false also where the user wants none
};

bool is_terminal(std::FILE* file);
TerminalSize terminal_size(std::FILE* file);
/// The terminal that gets the results of a run.
Terminal terminal_of(const World& world);

/// The lines of `text`, broken between words at `width` bytes. A longer word has a line of its own.
std::vector<std::string_view> wrap(std::string_view text, std::size_t width);

/// A number with commas between thousands.
std::string counted(std::uint64_t number);

struct World;

/// Whether a person can answer: standard input and standard error are terminals.
bool can_confirm(const World& world);

/// Prints `question` on standard error and reads an answer. True if the answer begins with y.
bool agrees(const World& world, std::string_view question);

/// Throws UsageError unless the user agrees.
void require_agreement(const World& world, std::string_view question);

/// Whether a reset of a whole fabric needs a confirmation: not if `agreed`. Throws UsageError if there is no terminal for it.
bool confirms_reset(const World& world, bool agreed);

}  // namespace ib::tools
