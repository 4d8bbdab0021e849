// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Parses paths that people write: the TARGET arguments of commands. Any input is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "path/path.hpp"
#include "sys/device.hpp"

namespace ib::path {

/// The required kind of address: the options -D, -L and -G.
enum class Form : std::uint8_t { any, direct, lid, guid };

/// The end ports that a target may use.
struct ParseOptions {
  const sys::DeviceList* devices{};        ///< the devices whose end ports a target may name; null: none exist
  const sys::EndPort* default_end_port{};  ///< for targets that name no end port; may be null
  const sys::Device* require_device{};     ///< a target that names an end port of another device is refused (-C was given)
  const sys::EndPort* require_end_port{};  ///< a target that names another end port is refused (-P, or an earlier target)
  Form form = Form::any;
};

/// A path, or the reason why a text means none.
struct ParsedTarget {
  std::optional<Path> path;
  std::string why;  ///< empty if there is a path
};

/// The path to `text`, which is one of
///
///     fe80::2:c903:0:1491           port GID; a prefix other than fe80:: selects the end port of that subnet
///     fe80::2:c903:0:1491%mlx4_0/1  port GID behind that end port
///     0002:c903:0000:1491           port GUID (also 12 to 16 hex digits, or 0x and 5 to 16, and S-, H- or R- before
///                                   either), taken as GID with prefix fe80::
///     12, 0xc                       unicast LID
///     0,1,  0,  0,1,7               directed route, beginning with 0 for this host; at most 63 hops; ports up to 254
///     IBPath(DLID=2, SL=2)          path spec, see parse_spec()
///
/// With Form::direct, a single number ("0") is also a directed route. With Form::guid, a hexadecimal number of any length is a GUID.
///
/// The path is only as complete as the text: the path to a GID has no LIDs yet. A spec with DLID and SL is complete: if it has no SLID, the
/// SLID is the LID of the end port. The path's end_port is the one that the text names, else require_end_port, else default_end_port.
/// Throws UsageError only for a wrong path spec. Its message is only the reason, as ParsedTarget::why is; callers put the argument before
/// it.
ParsedTarget parse_target(std::string_view text, const ParseOptions& options = {});

/// The end of the complaint about a word that is an address of no form.
inline constexpr std::string_view not_an_address = " is not a valid end port address (GID, port GUID or LID)";

/// Whether a text begins as a path spec does.
bool is_spec(std::string_view text);

/// Parses a path spec in the form of to_spec(): IBPath(…) or IBDRPath(…) with NAME=VALUE pairs in any order. Attributes that are not named
/// have their defaults. end_port is looked up in `devices`. Sets `names_sl` if the spec names an SL: SL 0 in the result may be the default.
/// Throws UsageError.
Path parse_spec(std::string_view text, const sys::DeviceList* devices = nullptr, bool* names_sl = nullptr);

/// A target in a form that an error may repeat. In a path spec, right or wrong, the values of keys are hidden. Other targets
/// stay unchanged.
std::string without_secrets(std::string_view text);

/// Sets the route of `path` from port numbers with `separator` between them, which may also follow the last: "0,1," with a
/// comma. The first number is 0, the others are at most 254, and there are at most 64. Returns false for a text that is not a route, of
/// which `path` then has a part.
bool try_set_route(IbDrPath& path, std::string_view text, char separator);
/// "Invalid DR path specification …".
std::string no_route_text(std::string_view text);

}  // namespace ib::path
