// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/parse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"

namespace ib::path {

namespace {

ParsedTarget refused(std::string why) { return {std::nullopt, std::move(why)}; }

/// Why the command line excludes an end port that a target names; empty if it does not.
std::string why_excluded(const sys::EndPort& port, const ParseOptions& options) {
  if (options.require_device != nullptr && port.device != options.require_device)
    return fmt::format("Path requires device {}, got {}", options.require_device->name, port.name());
  if (options.require_end_port != nullptr && &port != options.require_end_port)
    return fmt::format("Path requires end port {}, got {}", options.require_end_port->name(), port.name());
  return {};
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

ParsedTarget parse_scoped(std::string_view address, std::string_view scope, const ParseOptions& options) {
  const auto gid = parse_gid(trim(address));
  if (!gid) return refused(fmt::format("{} is not a valid GID", in_quotes(without_secrets(address))));
  const sys::EndPort* end_port = nullptr;
  try {
    if (options.devices == nullptr) throw UsageError("No InfiniBand device here");
    end_port = &options.devices->find_end_port(scope);
  } catch (const Error& error) {
    return refused(fmt::format("Could not find {}: {}", in_quotes(without_secrets(scope)), error.message()));
  }
  if (std::string why = why_excluded(*end_port, options); !why.empty()) return refused(std::move(why));
  return {from_gid(*gid, end_port), {}};
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

/// A GUID as the Linux kernel prints it, byte by byte: 50:6b:4b:03:00:10:00:05. Read as a GID it would be one of no subnet.
std::optional<Guid> parse_byte_guid(std::string_view text) {
  constexpr std::size_t bytes = 8, size = 3 * bytes - 1;
  if (text.size() != size) return std::nullopt;
  std::string digits;
  for (std::size_t at = 0; at < size; ++at) {
    if ((at % 3 == 2) != (text[at] == ':')) return std::nullopt;
    if (text[at] != ':') digits += text[at];
  }
  const auto value = parse_digits(digits, 16);
  return value ? std::optional(Guid{*value}) : std::nullopt;
}

/// A GUID that cannot be a LID: written in groups, or in more hexadecimal digits than a LID has. The node type of topology listings ("S-")
/// and 0x may stand before either; without 0x it has at least 12 digits, since a shorter word may be a name.
std::optional<Guid> parse_target_guid(std::string_view text) {
  constexpr std::size_t lid_digits = 4, guid_digits = 16, sure_digits = 12;
  if (text.size() > 2 && text[1] == '-' && std::string_view("SHRshr").find(text[0]) != std::string_view::npos) text.remove_prefix(2);
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = prefixed ? text.substr(2) : text;
  if (digits.find(':') != std::string_view::npos) return parse_guid(digits);
  if (digits.size() > guid_digits || digits.size() < (prefixed ? lid_digits + 1 : sure_digits)) return std::nullopt;
  const auto value = parse_digits(digits, 16);
  return value ? std::optional(Guid{*value}) : std::nullopt;
}

ParsedTarget parse_spec_target(std::string_view text, const ParseOptions& options) {
  bool names_sl = false;
  Path path = parse_spec(text, options.devices, &names_sl);
  IbPath& ib = path.ib();
  const std::string why = ib.end_port == nullptr ? std::string() : why_excluded(*ib.end_port, options);
  if (!why.empty()) return refused(why);
  if (ib.end_port == nullptr) ib.end_port = usual_end_port(options);
  if (names_sl && ib.end_port != nullptr && ib.dlid.is_unicast() && ib.slid == Lid{}) ib.slid = ib.end_port->lid;
  return {path, {}};
}

/// Why a text with a parenthesis is not a path spec, in the words of parse_spec().
std::string no_spec_text(std::string_view text) {
  const std::string_view spec = trim(text);
  const bool has_type = !spec.starts_with('(') && spec.ends_with(')');
  return fmt::format("Invalid path specification {}{}", in_quotes(without_secrets(text)), has_type ? ", bad path type" : "");
}

ParsedTarget parse_any(std::string_view text, const ParseOptions& options) {
  if (is_spec(text)) return parse_spec_target(text, options);
  if (text.find('(') != std::string_view::npos) return refused(no_spec_text(text));
  if (text.find(',') != std::string_view::npos) {
    IbDrPath path(usual_end_port(options));
    if (!try_set_route(path, text, ',')) return refused(no_route_text(text));
    return {path, {}};
  }
  const auto percent = text.find('%');
  if (percent != std::string_view::npos && text.find('%', percent + 1) == std::string_view::npos) {
    return parse_scoped(text.substr(0, percent), text.substr(percent + 1), options);
  }
  const auto address = trim(text);
  if (const auto guid = parse_byte_guid(address)) return {from_gid(Gid::from(link_local_prefix, *guid), usual_end_port(options)), {}};
  if (const auto gid = parse_gid(address)) return {parse_unscoped(*gid, options), {}};
  if (const auto guid = parse_target_guid(address)) return {from_gid(Gid::from(link_local_prefix, *guid), usual_end_port(options)), {}};
  if (const auto lid = parse_lid(address); lid && lid->is_unicast()) {
    IbPath path;
    path.end_port = usual_end_port(options);
    path.dlid = *lid;
    return {path, {}};
  }
  if (parse_number(address))
    return refused(fmt::format("{} cannot be the LID of a port: those are 1 to {}", in_quotes(without_secrets(text)), last_unicast_lid));
  return refused(fmt::format("{}{}", in_quotes(without_secrets(text)), not_an_address));
}

/// Why a path is not of the form that is required; empty if it is.
std::string why_not(Form form, const Path& path) {
  if (form == Form::direct && path.directed() == nullptr) return "Not a directed route";
  if (form == Form::guid && !path.ib().dgid) return "Not a GUID";
  if (form == Form::lid && (path.directed() != nullptr || path.ib().dlid == Lid{})) return "Not a LID";
  return {};
}

}  // namespace

std::string no_route_text(std::string_view text) {
  return fmt::format("Invalid DR path specification {}", in_quotes(without_secrets(text)));
}

bool try_set_route(IbDrPath& path, std::string_view text, char separator) {
  if (text.find(separator) == std::string_view::npos) return false;
  unsigned count = 0;
  path.route = {};
  for (const auto item : split_list(text, {&separator, 1})) {
    const auto port = parse_digits(item, 10);
    if (!port || *port > last_port || (count == 0 && *port != 0) || count > max_hops) return false;
    path.route[count++] = static_cast<std::uint8_t>(*port);
  }
  if (count == 0) return false;
  path.hops = static_cast<std::uint8_t>(count - 1);
  return true;
}

bool is_spec(std::string_view text) {
  const std::string_view begin = trim(text);
  return begin.starts_with("IBPath(") || begin.starts_with("IBDRPath(");
}

ParsedTarget parse_target(std::string_view text, const ParseOptions& options) {
  std::string target(text);
  if (options.form == Form::direct) {
    if (const auto number = parse_number(trim(text))) target = fmt::format("{},", *number);
  } else if (options.form == Form::guid) {
    std::string_view digits = trim(text);
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    if (const auto number = parse_digits(digits, 16)) target = to_text(Guid{*number});
  }
  ParsedTarget parsed = parse_any(target, options);
  if (!parsed.path) return parsed;
  std::string why = why_not(options.form, *parsed.path);
  return why.empty() ? parsed : refused(std::move(why));
}

}  // namespace ib::path
