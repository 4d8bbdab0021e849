// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/parse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "path/route.hpp"

namespace ib::path {

namespace {

constexpr std::uint64_t last_port = 254;  // IBA 14.2.5.4: 255 names no port

/// Returns the end port that a target names. Throws UsageError if the command line excludes it.
const sys::EndPort* checked(const sys::EndPort& port, const ParseOptions& options) {
  if (options.require_device != nullptr && port.device != options.require_device) {
    throw UsageError(fmt::format("Path requires device {}, got {}", options.require_device->name, port.name()));
  }
  if (options.require_end_port != nullptr && &port != options.require_end_port) {
    throw UsageError(fmt::format("Path requires end port {}, got {}", options.require_end_port->name(), port.name()));
  }
  return &port;
}

const sys::EndPort* usual_end_port(const ParseOptions& options) {
  return options.require_end_port != nullptr ? options.require_end_port : options.default_end_port;
}

Path from_gid(const Gid& gid, const sys::EndPort* end_port) {
  IbPath path;
  path.end_port = end_port;
  path.dgid = gid;
  return path;
}

Path parse_scoped(std::string_view address, std::string_view scope, const ParseOptions& options) {
  const auto gid = parse_gid(trim(address));
  if (!gid) throw UsageError(fmt::format("{} is not a valid GID", in_quotes(without_secrets(address))));
  const sys::EndPort* end_port = nullptr;
  try {
    if (options.devices == nullptr) throw UsageError("No InfiniBand device here");
    end_port = &options.devices->find_end_port(scope);
  } catch (const Error& error) {
    throw UsageError(fmt::format("Could not find {}: {}", in_quotes(without_secrets(scope)), error.message()));
  }
  return from_gid(*gid, checked(*end_port, options));
}

/// The path to a GID without scope. If this host has a port in the subnet of the prefix, the path starts at that port. fe80::
/// belongs to every subnet.
Path parse_unscoped(const Gid& gid, const ParseOptions& options) {
  if (gid.prefix() != link_local_prefix && options.require_end_port == nullptr && options.devices != nullptr) {
    const auto* usual = usual_end_port(options);
    const auto on_subnet = [&](const Gid& own) { return own.prefix() == gid.prefix() && own.guid() != Guid{}; };
    if (usual != nullptr && std::any_of(usual->gids.begin(), usual->gids.end(), on_subnet)) return from_gid(gid, usual);
    if (const auto* port = options.devices->find_prefix(gid.prefix(), options.require_device)) return from_gid(gid, port);
  }
  return from_gid(gid, usual_end_port(options));
}

/// A GUID that cannot be a LID: written in groups, or in more hexadecimal digits than a LID has. The node type of topology listings ("S-")
/// and 0x may stand before either; without 0x it has at least 12 digits, since a shorter word may be a name.
std::optional<Guid> parse_target_guid(std::string_view text) {
  constexpr std::size_t lid_digits = 4, guid_digits = 16, sure_digits = 12;
  for (const std::string_view type : {"S-", "H-", "R-"}) {
    if (text.starts_with(type)) text.remove_prefix(type.size());
  }
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = prefixed ? text.substr(2) : text;
  if (digits.find(':') != std::string_view::npos) return parse_guid(digits);
  if (digits.size() > guid_digits || digits.size() < (prefixed ? lid_digits + 1 : sure_digits)) return std::nullopt;
  const auto value = parse_digits(digits, 16);
  return value ? std::optional(Guid{*value}) : std::nullopt;
}

Path parse_spec_target(std::string_view text, const ParseOptions& options) {
  bool names_sl = false;
  Path path = parse_spec(text, options.devices, names_sl);
  IbPath& ib = path.ib();
  ib.end_port = ib.end_port == nullptr ? usual_end_port(options) : checked(*ib.end_port, options);
  if (names_sl && ib.end_port != nullptr && ib.dlid.is_unicast() && ib.slid == Lid{}) ib.slid = ib.end_port->lid;
  return path;
}

Path parse_any(std::string_view text, const ParseOptions& options) {
  if (text.find('(') != std::string_view::npos) return parse_spec_target(text, options);
  if (text.find(',') != std::string_view::npos) {
    IbDrPath path(usual_end_port(options));
    set_route(path, text, ',');
    return path;
  }
  const auto percent = text.find('%');
  if (percent != std::string_view::npos && text.find('%', percent + 1) == std::string_view::npos) {
    return parse_scoped(text.substr(0, percent), text.substr(percent + 1), options);
  }
  const auto address = trim(text);
  if (const auto gid = parse_gid(address)) return parse_unscoped(*gid, options);
  if (const auto guid = parse_target_guid(address)) return from_gid(Gid::from(link_local_prefix, *guid), usual_end_port(options));
  if (const auto lid = parse_lid(address); lid && lid->is_unicast()) {
    IbPath path;
    path.end_port = usual_end_port(options);
    path.dlid = *lid;
    return path;
  }
  throw UsageError(fmt::format("{} is not a valid end port address (GID, port GUID or LID)", in_quotes(without_secrets(text))));
}

}  // namespace

void set_route(IbDrPath& path, std::string_view text, char separator) {
  const auto invalid = [text] { return UsageError(fmt::format("Invalid DR path specification {}", in_quotes(without_secrets(text)))); };
  if (text.find(separator) == std::string_view::npos) throw invalid();
  unsigned count = 0;
  path.route = {};
  for (const auto item : split_list(text, {&separator, 1})) {
    const auto port = parse_digits(item, 10);
    if (!port || *port > last_port || (count == 0 && *port != 0) || count > max_hops) throw invalid();
    path.route[count++] = static_cast<std::uint8_t>(*port);
  }
  if (count == 0) throw invalid();
  path.hops = static_cast<std::uint8_t>(count - 1);
}

Path parse_target(std::string_view text, const ParseOptions& options) {
  std::string target(text);
  if (options.form == Form::direct) {
    if (const auto number = parse_number(trim(text))) target = fmt::format("{},", *number);
  } else if (options.form == Form::guid) {
    std::string_view digits = trim(text);
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    if (const auto number = parse_digits(digits, 16)) target = to_text(Guid{*number});
  }
  Path path = parse_any(target, options);
  switch (options.form) {
    case Form::direct:
      if (path.directed() == nullptr) throw UsageError("Not a directed route");
      break;
    case Form::guid:
      if (!path.ib().dgid) throw UsageError("Not a GUID");
      break;
    case Form::lid:
      if (path.directed() != nullptr || path.ib().dlid == Lid{}) throw UsageError("Not a LID");
      break;
    case Form::any:
      break;
  }
  return path;
}

}  // namespace ib::path
