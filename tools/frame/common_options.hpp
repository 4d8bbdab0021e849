// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options that have the same meaning in every command, in groups. A command takes the groups that it needs. Defaults come from
// ibdiag.conf; the command line has precedence.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.hpp"
#include "iba/types.hpp"

namespace ib::mad {
enum class GmpCarrier : int;
}
namespace ib::path {
enum class Form : std::uint8_t;
}

namespace ib::tools {

class OptionSet;
enum class Dialect : std::uint8_t;
enum class Format : std::uint8_t;
struct World;

struct CommonOptions {
  const World* world{};  ///< where a prompt goes
  std::string program;   ///< the name by which the program was called, for messages
  // device
  std::optional<std::string> device, port;
  std::string device_file, port_file;  ///< the file of defaults that set them; empty if the command line did
  // addressing
  path::Form address{};             ///< any form by default
  bool combined{};                  ///< a target is two words: a LID, and a directed route from there
  std::optional<Lid> sm_lid;        ///< infiniband-diags' -s: where the SA is
  std::optional<std::string> from;  ///< the snapshot to answer from
  // timing
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<unsigned> retries;
  std::optional<unsigned> outstanding_smps;
  // keys
  std::uint64_t m_key{}, sm_key = 1;
  std::optional<std::uint16_t> pkey_index;
  Keys keys = Keys::hidden;  ///< whether printed output shows keys
  // what carries GMPs; automatic by default
  mad::GmpCarrier gmp{};
  // SA
  bool use_sa{};
  bool skip_sl{};  ///< GMPs use SL 0: no path is queried from the SA
  std::optional<std::string> sa_path;
  // output
  int debug{}, verbosity{};
  bool show_errors{}, int_names{}, stats{};
  bool help{}, version{};  ///< printed instead of a run
  bool dry_run{};          ///< Sets are printed, not sent (subnet/set/set_guard.hpp)
  Format format{};         ///< a text by default
  std::optional<std::string> node_name_map;
  // only in ibdiag.conf
  bool sends_sa_key{};  ///< by a legacy name: requests to the SA have the sa_key of the file. Others send none when they look for the LID
                        ///< of a GUID
  bool mlnx_extended_port_info = true;

  /// Level of the diagnostics on errors: -v and -d both raise it.
  int error_level() const { return debug > verbosity ? debug : verbosity; }
};

/// Groups of common options; a command names those it takes.
enum Groups : unsigned {
  group_device = 1U << 0,   ///< -C -P
  group_address = 1U << 1,  ///< -D -L -G
  group_timing = 1U << 2,   ///< -t --retries -o
  group_keys = 1U << 3,     ///< -y -Y -K --smkey
  group_sa = 1U << 4,       ///< --sa --sa-path
  group_names = 1U << 5,    ///< --node-name-map --int-names
  group_output = 1U << 6,   ///< -d -v -e --json --stats
  group_gmp = 1U << 7,      ///< --gmp
  group_from = 1U << 8,     ///< --from
  group_sl = 1U << 9,       ///< --skip-sl: of commands that send GMPs
  /// Talks to the fabric …
  group_fabric = group_device | group_timing | group_keys | group_gmp | group_sa | group_names | group_output | group_from,
  group_target = group_fabric | group_address,  ///< … to a TARGET
};

/// Adds the options of `groups`, bound to `common`, which must outlive the set, without the letters and names that the set has.
void add_common(OptionSet& set, CommonOptions& common, unsigned groups);

/// By a legacy name: adds the common options, except OptionSet::without().
void add_diags_common(OptionSet& set, CommonOptions& common);
/// The common options of a legacy name before its command line is read.
CommonOptions diags_defaults();
/// Reads the words behind a legacy name: adds the common options, applies the site's ibdiag.conf, then the options in their order, then the
/// operands. A script has no common options, and a shell script not that file either. Throws DiagsUsage, DiagsExit and DiagsFailure.
void read_diags_line(OptionSet& set, CommonOptions& common, std::span<char* const> words);

/// Only --node-name-map, for legacy names.
void add_node_name_map(OptionSet& set, CommonOptions& common);
/// Only -o: how many SMPs may be outstanding. By a legacy name 0 changes nothing.
void add_outstanding_smps(OptionSet& set, CommonOptions& common);
/// Offers the RDMA devices ("mlx5_0"), or their end ports ("mlx5_0/1"), as values of the option or operand that was added last.
void offer_devices(OptionSet& set, const CommonOptions& common, bool ports);
/// Only -K, for commands that print keys and send none.
void add_show_keys(OptionSet& set, CommonOptions& common);

/// Reads a line from the terminal (or standard input) without showing what is typed.
std::string read_unseen(const World& world, std::string_view prompt);
/// The key in `text`. If that is not a number, requests it on the terminal with `prompt`: it need not be in a process list. `diags`:
/// numbers end as C reads them. Throws OptionError, or DiagsFailure for `diags`, with `complaint`, which repeats no key.
std::uint64_t parse_key(const CommonOptions& common, const std::string& text, std::string_view prompt, std::string complaint,
                        bool diags = false);
/// An option of ibtool's dialect with a key, as parse_key() reads it.
void add_key(OptionSet& set, const CommonOptions& common, std::string_view spelling, std::uint64_t& key, std::string_view metavar,
             std::string_view help);

/// Adds the options that every command has: -h, -V and -z, and --dry-run if it can change something.
void add_general(OptionSet& set, CommonOptions& common, bool changes = false);

/// Applies the site's defaults in `content`, of `file`, in the file format of infiniband-diags: one NAME=VALUE a line. A name may
/// be longer than the word it must begin with. ibtool's dialect ignores a value with any mistake; by a legacy name a number ends where its
/// digits end, and a value that is not a number is 0. Returns what is wrong, "FILE:LINE: …", without any key.
std::vector<std::string> apply_config(CommonOptions& common, std::string_view content, const std::string& file, Dialect dialect);
/// Applies the site's configuration file, if there is one. Its mistakes are warnings.
void apply_default_config(CommonOptions& common);

}  // namespace ib::tools
