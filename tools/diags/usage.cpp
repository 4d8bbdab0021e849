// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The common options of infiniband-diags and the usage text that its tools print from their option tables.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <iterator>

#include "tools/diags/options.hpp"

namespace ib::diags {
namespace {

constexpr std::array<Option, 16> common_options{{
    {"config", 'z', "<config>", "use config file, default: /etc/infiniband-diags/ibdiag.conf"},
    {"Ca", 'C', "<ca>", "Ca name to use"},
    {"Port", 'P', "<port>", "Ca port number to use"},
    {"Direct", 'D', nullptr, "use Direct address argument"},
    {"Lid", 'L', nullptr, "use LID address argument"},
    {"Guid", 'G', nullptr, "use GUID address argument"},
    {"timeout", 't', "<ms>", "timeout in ms"},
    {"sm_port", 's', "<lid>", "SM port lid"},
    {"show_keys", 'K', nullptr, "display security keys in output"},
    {"m_key", 'y', "<key>", "M_Key to use in request"},
    {"pkey-idx", 'Y', "<idx>", "P_Key table index for outgoing SA/GMP MADs (default 0)", false},
    {"errors", 'e', nullptr, "show send and receive errors"},
    {"verbose", 'v', nullptr, "increase verbosity level"},
    {"debug", 'd', nullptr, "raise debug level"},
    {"help", 'h', nullptr, "help message"},
    {"version", 'V', nullptr, "show version"},
}};

constexpr std::size_t help_column = 24, help_width = 74;

/// Appends `text` to `out`, whose line is `start` columns long, broken at blanks; a word that has no blank behind it
/// is never moved to the next line.
void append_wrapped(std::string& out, std::size_t start, std::string_view text) {
  const std::size_t room = help_width > start ? help_width - start : 0;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::size_t end = 0, blank = 0;
    do {
      end = blank + 1;
      blank = text.find(' ', end);
    } while (blank != std::string_view::npos && blank < room);
    if (blank == std::string_view::npos) break;
    if (end == 1) end = blank;
    out.append(text.substr(0, end)).append(1, '\n').append(start, ' ');
    text.remove_prefix(end);
  }
  out.append(text);
}

void append_option(std::string& out, const Option& option) {
  std::string line = fmt::format("  --{}", option.name);
  if (std::isprint(option.letter) != 0) line += fmt::format(", -{}", static_cast<char>(option.letter));
  if (option.argument != nullptr) line += fmt::format(" {}", option.argument);
  if (*option.help == '\0') {
    out += line + '\n';
    return;
  }
  if (line.size() < help_column) line.append(help_column - line.size(), ' ');
  line += "  ";
  append_wrapped(line, line.size(), option.help);
  out += line + '\n';
}

}  // namespace

std::vector<Option> all_options(const Tool& tool) {
  std::vector<Option> all(tool.options.begin(), tool.options.end());
  for (const Option& option : common_options)
    if (tool.left_out.find(static_cast<char>(option.letter)) == std::string_view::npos) all.push_back(option);
  return all;
}

std::string usage_text(const Tool& tool) {
  std::string text = fmt::format("\nUsage: {} [options] {}\n\nOptions:\n", tool.name, tool.arguments);
  const std::vector<Option> options = all_options(tool);
  for (const Option& option : options) {
    if (!option.listed) continue;
    // A common option whose letter the tool took for itself is listed as the tool's.
    const Option* shown = &option;
    for (const Option& other : options)
      if (other.letter == option.letter) {
        shown = &other;
        break;
      }
    append_option(text, *shown);
  }
  if (!tool.examples.empty()) text += "\nExamples:\n";
  for (const char* example : tool.examples) text += fmt::format("  {} {}\n", tool.name, example);
  return text + '\n';
}

}  // namespace ib::diags
