// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths from text that people write: the TARGET arguments of commands. Safe on any input.
#pragma once

#include <string>
#include <string_view>

#include "path/path.hpp"
#include "sys/device.hpp"

namespace ib::path {

/// What kind of address a target must be: the options -D, -L and -G.
enum class Form : std::uint8_t { any, direct, lid, guid };

struct ParseOptions {
  const sys::DeviceList* devices{};        ///< where the end ports that a target may name are looked up; null: none exist
  const sys::EndPort* default_end_port{};  ///< for targets that name none; may be null
  const sys::Device* require_device{};     ///< a target that names another device's end port is refused (-C was given)
  const sys::EndPort* require_end_port{};  ///< a target that names another end port is refused (-P, or an earlier target)
  Form form = Form::any;
};

/// The path to `text`, which may be
///
///     fe80::2:c903:0:1491           port GID; a prefix other than fe80:: selects the end port of that subnet
///     fe80::2:c903:0:1491%mlx4_0/1  port GID behind that end port
///     0002:c903:0000:1491           port GUID (also 16 hex digits, or 0x and 16), taken as GID with prefix fe80::
///     12, 0xc                       unicast LID
///     0,1,  0,  0,1,7               directed route, beginning with 0 for this host; at most 63 hops; ports up to 254
///     IBPath(DLID=2, SL=2)          path spec, see parse_spec()
///
/// With Form::direct a single number is a directed route too ("0"); with Form::guid a hexadecimal number of any
/// length is a GUID.
///
/// The path is as complete as the text: a GID has no LIDs yet. The path's end_port is that which the text names, else
/// require_end_port, else default_end_port. Throws UsageError whose message is the reason alone; callers put the
/// argument before it.
Path parse_target(std::string_view text, const ParseOptions& options = {});

/// The path that `text` describes as to_spec() does: IBPath(…) or IBDRPath(…) with NAME=VALUE pairs in any order. What is
/// not named has its default. end_port is looked up in `devices`. Throws UsageError.
Path parse_spec(std::string_view text, const sys::DeviceList* devices = nullptr);

/// A target as an error may repeat it: a path spec, right or wrong, without the values of its keys. Other targets have none.
std::string without_secrets(std::string_view text);

}  // namespace ib::path
