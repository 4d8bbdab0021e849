// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command line of a tool of infiniband-diags: GNU getopt_long's habits (permuted arguments, abbreviated long
// options, the last one wins), a common set of options of which each tool has most, and its usage text. Unlike
// ibtool's own options these are order-sensitive: -z reads a file of defaults where it stands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.hpp"
#include "iba/types.hpp"
#include "tools/frame/ibdiag_conf.hpp"

namespace ib::diags {

struct Option {
  const char* name;      ///< of the long form
  int letter;            ///< of the short form; one that can not be printed says that there is none
  const char* argument;  ///< its placeholder in the usage text; null for an option without an argument
  const char* help;
  bool listed = true;  ///< in the usage text: options younger than the recorded text are taken but not listed
};

/// What makes one tool's command line differ from the others'.
struct Tool {
  const char* name;                       ///< "smpquery"
  const char* arguments;                  ///< what follows "[options]" in the usage text
  std::string_view left_out;              ///< letters of the common options that the tool does not have
  std::span<const Option> options;        ///< its own ones, listed first; a letter here hides the common one
  std::span<const char* const> examples;  ///< arguments and comment; the usage text puts the name in front
};

enum class Destination : std::uint8_t { lid, direct, guid, combined };

/// What the common options and ibdiag.conf say.
struct Settings {
  std::optional<std::string> device;           ///< -C
  std::string port;                            ///< -P; empty for any. A number, or any form that ibtool's -P takes
  Destination destination = Destination::lid;  ///< -D, -L, -G: the last one wins
  std::optional<int> timeout_ms;               ///< -t
  std::optional<Lid> sm_lid;                   ///< -s
  std::uint64_t m_key = 0;                     ///< -y
  std::uint64_t sa_key = 0;
  std::uint16_t pkey_index = 0;              ///< -Y
  Keys keys = Keys::hidden;                  ///< -K
  bool show_errors = false;                  ///< -e, -d
  std::optional<unsigned> outstanding_smps;  ///< -o
  int verbose = 0;                           ///< count of -v
  int debug = 0;                             ///< count of -d
  bool mlnx_extended_port_info = true;
  std::optional<std::string> node_description_format;

  void apply(const tools::IbdiagConf& conf);
};

/// The command line is done with before the tool ran: print `err` on stderr and end with `status`.
struct Stop {
  int status;
  std::string err;
};

/// Takes an option of the tool's own: its letter and argument (null if it has none).
using Handler = std::function<void(int letter, const char* value)>;

/// Reads `words` (without the program's name) into `settings`, calls `own` for the tool's own options, and returns
/// the arguments that are no options. The default ibdiag.conf is read first. Complaints of getopt_long go to
/// stderr at once. Throws Stop for --help, --version and bad options, Failure for bad values.
std::vector<std::string> parse_command_line(const Tool& tool, std::span<char* const> words, Settings& settings, const Handler& own);

/// An M_Key. What is no number asks for it on the terminal, so that it need not stand in a process list; throws Failure
/// with `complaint` where the answer is no number either.
std::uint64_t read_m_key(const char* text, const char* prompt, const char* complaint, const char* function);

/// What --help prints.
std::string usage_text(const Tool& tool);

/// The whole option table of a tool in the order of its usage text.
std::vector<Option> all_options(const Tool& tool);

}  // namespace ib::diags
