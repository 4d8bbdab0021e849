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

struct Terminal {
  std::optional<std::size_t> width, height;  ///< columns and lines; absent: the stream is not a terminal, or does not know
  bool has_colours{};                        ///< false also where the user wants none
};

bool is_terminal(std::FILE* file);
/// The terminal that gets the results of a run.
Terminal terminal_of(const World& world);
/// As above, behind any stream, and without colours.
Terminal terminal_size(std::FILE* file);

/// The lines of `text`, broken between words at `width` bytes. A longer word has a line of its own.
std::vector<std::string_view> wrap(std::string_view text, std::size_t width);

/// A number with commas between thousands.
std::string counted(std::uint64_t number);

/// Whether a person is requested to confirm what a command will do: not if that was `agreed` to on the command line. Throws UsageError with
/// the text `otherwise` if nobody can answer: standard input and standard error are terminals then.
bool must_confirm(const World& world, bool agreed, std::string_view otherwise);
inline constexpr std::string_view lost_counters =
    "The counters of the whole fabric would be lost: name a TARGET, or give --yes, or --dry-run to see what would be set";
/// Prints `question` on standard error and reads an answer. Throws UsageError unless it begins with y.
void require_agreement(const World& world, std::string_view question);

}  // namespace ib::tools
