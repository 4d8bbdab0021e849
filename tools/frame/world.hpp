// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The interface between a run of the program and the outside. main() passes this host. Tests pass a fabric in memory, a clock
// that jumps, and their own streams. A command uses nothing outside in any other way: tests/lint refuses the environment, the time of day
// and the standard streams elsewhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.hpp"
#include "iba/libibmad_text.hpp"
#include "sys/device.hpp"

namespace ib {
class Log;
}
namespace ib::mad {
class Channel;
enum class GmpCarrier : int;
}  // namespace ib::mad

namespace ib::tools {

/// What a release of infiniband-diags does otherwise than other releases.
struct DiagsRelease {
  std::string_view version;  ///< what -V prints
  /// The function of libibmad that reports an end port that cannot be opened.
  std::string_view open_function;
  /// Whether each PortInfo of smpquery and saquery ends with the fields of LinkSpeedExt2.
  NewFields new_fields;
  /// Whether libibmad opens an end port whose state is Down.
  bool opens_down_ports;
  /// Whether libibmad takes a negative port number for the first usable port. Otherwise no port has it.
  bool opens_negative_ports;
  /// Whether ibstat fails for a port that the device does not have. Otherwise it warns, and its status is 0.
  bool ibstat_needs_port;
};

/// The releases of Debian 12 and of Debian 13.
inline constexpr std::array<DiagsRelease, 2> diags_releases{{
    {.version = "44.0",
     .open_function = "mad_rpc_open_port",
     .new_fields = NewFields::if_set,
     .opens_down_ports = true,
     .opens_negative_ports = true,
     .ibstat_needs_port = true},
    {.version = "56.1",
     .open_function = "mad_rpc_open_port2",
     .new_fields = NewFields::always,
     .opens_down_ports = false,
     .opens_negative_ports = false,
     .ibstat_needs_port = false},
}};

/// The release of that version, else the first one.
constexpr const DiagsRelease& diags_release(std::string_view of) {
  const auto* const release = std::ranges::find(diags_releases, of, &DiagsRelease::version);
  return release != diags_releases.end() ? *release : diags_releases.front();
}

/// The environment of a run. It outlives the run.
struct World {
  std::FILE* in = stdin;    ///< input of decode_mad, and answers to prompts
  std::FILE* out = stdout;  ///< results
  std::FILE* err = stderr;  ///< complaints, diagnostics, progress
  Log* log{};               ///< writes to `err`; run() sets it
  /// The RDMA devices of this host. Throws SysError.
  std::function<sys::DeviceList()> devices = [] { return sys::DeviceList::read(); };
  /// Opens the channel that sends and receives at an end port. Throws as mad::open_channel() does.
  std::function<std::unique_ptr<mad::Channel>(const sys::EndPort&, mad::GmpCarrier)> open_channel;
  async::Clock* clock{};  ///< null: real time
  /// The snapshot to answer from (IBTOOL_FROM), and where commands keep what they read (IBTOOL_CACHE), unless their options say so.
  std::optional<std::string> from{}, cache{};
  bool refresh_cache{};  ///< commands read the fabric again, whatever that cache has
  /// The default node name maps of a site. infiniband-diags reads the first of these files; ibtool reads the first that exists.
  std::vector<std::string> node_name_maps{};
  /// The release of infiniband-diags that a legacy name stands in for.
  const DiagsRelease* diags_release = &diags_releases.front();
  std::size_t help_width = 78;                ///< the columns of help texts (COLUMNS)
  bool is_dumb{};                             ///< the terminal erases no lines and has no colours (TERM=dumb)
  bool no_colours{};                          ///< the user wants no colours (NO_COLOR)
  std::string diags_directory = "/usr/sbin";  ///< the programs of infiniband-diags in messages of its scripts (IBPATH)
  /// The path by which the kernel ran this program (AT_EXECFN). Empty: not known.
  std::string executable{};
  /// The text of a symbolic link. Nothing if the file is not a symbolic link or cannot be read.
  std::function<std::optional<std::string>(const std::string&)> read_link{};
};

/// This host: sysfs, umad and verbs, real time, the streams of the process.
World this_host();

}  // namespace ib::tools
