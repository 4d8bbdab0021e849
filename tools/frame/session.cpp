// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a session opens lazily; operands and the fabric have files of their own.
#include "tools/frame/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::tools {
namespace {

/// Reads a map and warns of wrong lines. A file that is not a map has many of them.
subnet::NodeNameMap read_node_names(const std::string& file) {
  constexpr std::size_t most_warnings = 10;
  subnet::NodeNameMap map = subnet::NodeNameMap::read(file);
  const auto& bad = map.bad_lines();
  for (std::size_t at = 0; at < std::min(bad.size(), most_warnings); ++at)
    log::warning(fmt::format("{}:{}: no GUID at the start of the line", file, bad[at].number));
  if (bad.size() > most_warnings) log::warning(fmt::format("{}: {} more lines without a GUID", file, bad.size() - most_warnings));
  return map;
}

/// The map as infiniband-diags reads it: `file`, or the one in its usual place. If it cannot be read, warns and returns an empty map.
subnet::NodeNameMap read_diags_node_names(const World& world, const std::optional<std::string>& file) {
  std::FILE* const err = world.err;
  const std::string name = file ? *file : world.node_name_maps.empty() ? "" : world.node_name_maps.front();
  try {
    subnet::NodeNameMap map = subnet::NodeNameMap::read_as_diags(name);
    if (map.bad_lines().empty()) return map;
    const std::string& line = map.bad_lines().front().text;
    tell(err, fmt::format("WARNING failed to parse node name map \"{}\"\nWARNING failed line: \"{}\"\n", name, line));
  } catch (const UsageError& error) {
    tell(err, fmt::format("WARNING failed to read node name map: {}\n", error.what()));
  } catch (const SysError& error) {
    if (file || error.code() != ENOENT)
      tell(err, fmt::format("WARNING failed to open node name map \"{}\" ({})\n", name, std::strerror(error.code())));
  }
  return {};
}

/// " (CA=mlx5_7 stands in /etc/…)" if the end port comes from a file.
std::string where_defaults_stand(const CommonOptions& options) {
  std::string text;
  if (!options.device_file.empty()) text += fmt::format(" (CA={} stands in {})", options.device.value_or(""), options.device_file);
  if (!options.port_file.empty()) text += fmt::format(" (Port={} stands in {})", options.port.value_or(""), options.port_file);
  return text;
}

}  // namespace

const sys::DeviceList& Session::devices() {
  if (!devices_) devices_ = options_.from ? snapshot().devices() : world_.devices();
  return *devices_;
}

const sys::EndPort& Session::end_port() {
  if (end_port_ != nullptr) return *end_port_;
  std::optional<std::string> port = options_.port;
  const bool is_snapshots = options_.from && !options_.device && !port;
  if (is_snapshots) port = std::to_string(snapshot().port_number());
  try {
    const sys::DeviceList& list = devices();
    if (dialect_ == Dialect::diags && !is_snapshots && !(options_.device && port)) {
      const sys::Device* device = options_.device ? &list.find_device(*options_.device) : nullptr;
      end_port_ = &list.libibumad_port(device, static_cast<unsigned>(diags_port_number()));
    } else {
      end_port_ = &list.select(options_.device, port);
    }
  } catch (const UsageError& error) {
    throw UsageError(error.message() + where_defaults_stand(options_));
  }
  end_port_fixed_ = options_.port.has_value();
  return *end_port_;
}

const subnet::NodeNameMap& Session::node_name_map() {
  if (node_name_map_) return *node_name_map_;
  if (dialect_ == Dialect::diags) return node_name_map_.emplace(read_diags_node_names(world_, options_.node_name_map));
  if (options_.node_name_map) return node_name_map_.emplace(read_node_names(*options_.node_name_map));
  for (const std::string& file : world_.node_name_maps) {
    try {
      return node_name_map_.emplace(read_node_names(file));
    } catch (const SysError& error) {  // the default file need not exist or be readable
      if (error.code() != ENOENT && error.code() != EACCES) throw;
    }
  }
  return node_name_map_.emplace();
}

void Session::debug(int level, std::string_view text) const {
  if (options_.debug >= level) log::debug(text);
}

void Session::note(std::string_view line) const {
  if (options_.dry_run) return;
  const std::string text = harmless(line) + "\n";
  log::about_to_write();
  std::fwrite(text.data(), 1, text.size(), world_.err);
}

void Session::report(const Error& error) const { print_error(error, options_.error_level(), options_.keys); }

void print_error(const Error& error, int level, Keys keys, bool top) {
  std::string message;
  std::vector<std::string> packet;  // lines of a decoded packet belong to the line before
  const auto write = [&] {
    if (!message.empty()) log::error(message, packet);
    packet.clear();
  };
  for (const std::string& line : error.lines(level, keys)) {
    if (line.starts_with(' ')) {
      packet.push_back(line);
      continue;
    }
    write();
    message = (top || line.starts_with('+') ? "" : "+") + line;
    top = false;
  }
  write();
}

}  // namespace ib::tools
