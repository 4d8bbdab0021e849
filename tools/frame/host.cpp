// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/host.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

/// " (CA=mlx5_7 stands in /etc/…)" if the end port comes from a file.
std::string where_defaults_stand(const CommonOptions& options) {
  std::string text;
  if (!options.device_file.empty()) text += fmt::format(" (CA={} stands in {})", options.device.value_or(""), options.device_file);
  if (!options.port_file.empty()) text += fmt::format(" (Port={} stands in {})", options.port.value_or(""), options.port_file);
  return text;
}

}  // namespace

Host::Host(const World& world, CommonOptions options, const Manners* manners)
    : world_(world), options_(std::make_unique<CommonOptions>(std::move(options))), manners_(manners) {}

Host::~Host() = default;

Log& Host::log() const { return *world_.log; }

void Host::use_sa() { options_->use_sa = true; }

const sys::DeviceList& Host::devices() {
  if (!devices_) devices_ = std::make_unique<sys::DeviceList>(options_->from ? stored().devices() : world_.devices());
  return *devices_;
}

const sys::DeviceList& Host::own_devices() {
  if (options_->from && !stored().format().empty()) throw UsageError(stored().why_without({}, "devices of a host"));
  return devices();
}

const sys::EndPort& Host::end_port() {
  if (end_port_ == nullptr) {
    end_port_ = &select(devices());
    is_named_ = options_->port.has_value();
  }
  return *end_port_;
}

const sys::EndPort& Host::select(const sys::DeviceList& list) {
  std::optional<std::string> port = options_->port;
  const bool is_stored = options_->from && !options_->device && !port;
  if (is_stored) port = std::to_string(stored().port_number());
  try {
    if (manners_ != nullptr && !is_stored) return manners_->choose_port(list, *options_);
    return list.select(options_->device, port);
  } catch (const UsageError& error) {
    throw UsageError(error.message() + where_defaults_stand(*options_));
  }
}

void Host::name_end_port(const sys::EndPort& port) {
  end_port_ = &port;
  is_named_ = true;
}

void Host::reread() {
  if (options_->from) return;
  auto now = std::make_unique<sys::DeviceList>(world_.devices());
  const sys::EndPort* port = nullptr;
  if (end_port_ != nullptr) port = &now->select(end_port_->device->name, std::to_string(end_port_->number));
  devices_before_ = std::exchange(devices_, std::move(now));
  end_port_ = port;
}

snapshot::StoredFabric& Host::stored() {
  if (!stored_) stored_ = snapshot::open_fabric(options_->from.value());
  return *stored_;
}

void Host::debug(std::string_view text) const {
  if (options_->debug > 0) log().debug(text);
}

void Host::detail(std::string_view text) const {
  if (options_->error_level() > 0) log().debug(text);
}

void Host::note(std::string_view line) const {
  if (!options_->dry_run) log().print(harmless(line) + "\n");
}

void Host::report(const Error& error, bool top) const { print_error(log(), error, options_->error_level(), options_->keys, top); }

void print_error(Log& log, const Error& error, int level, Keys keys, bool top) {
  std::string message;
  std::vector<std::string> packet;  // lines of a decoded packet belong to the line before
  const auto write = [&] {
    if (!message.empty()) log.error(message, packet);
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
