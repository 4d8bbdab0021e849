// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/local_ports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "async/group.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools::exporter {

PortName parse_port_name(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  const bool is_whole = slash != std::string_view::npos && slash != 0 && parse_digits(text.substr(slash + 1), 10).has_value();
  if (!is_whole) throw OptionError(fmt::format("--add-port: {} is not DEVICE/PORT", in_quotes(text)));
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

void check_named_port(Host& host) {
  const bool is_named = host.options().device || host.options().port;
  if (is_named && !host.own_devices().devices().empty()) host.end_port();
}

namespace {

/// The name of the first port. If the port does not exist yet: the name that the user gave.
std::string first_name(Host& host) {
  try {
    const sys::EndPort& port = host.end_port();
    return fmt::format("{}/{}", port.device->name, port.number);
  } catch (const Error&) {
    const CommonOptions& options = host.options();
    return fmt::format("{}/{}", options.device.value_or("the first device"), options.port.value_or("1"));
  }
}

}  // namespace

LocalPorts::LocalPorts(Stack& first, const std::vector<PortName>& others, const ReaderOptions& options, const Times& times)
    : loop_(first.loop()) {
  ports_.push_back({first_name(first.host()), nullptr, nullptr, nullptr});
  for (const PortName& name : others) {
    if (std::ranges::find(ports_, name.text(), &LocalPort::name) != ports_.end())
      throw UsageError(fmt::format("--add-port: {} is there already", in_quotes(name.text())));
    CommonOptions common = first.host().options();
    common.device = name.device;
    common.port = name.number;
    auto host = std::make_unique<Host>(first.host().world(), std::move(common));
    auto stack = std::make_unique<Stack>(*host, loop_);
    ports_.push_back({name.text(), std::move(host), std::move(stack), nullptr});
  }
  for (LocalPort& of : ports_)
    of.engine = std::make_unique<Engine>(of.stack ? *of.stack : first, options, times, ports_.size() > 1 ? of.name + ": " : std::string());
}

async::Task<> LocalPorts::run() {
  async::TaskGroup group(loop_);
  for (LocalPort& port : ports_) group.spawn(port.engine->run());
  co_await group.join();
}

Engine* LocalPorts::find(std::string_view name) {
  if (name.empty()) return ports_.front().engine.get();
  const auto found = std::ranges::find(ports_, name, &LocalPort::name);
  return found == ports_.end() ? nullptr : found->engine.get();
}

std::string LocalPorts::names() const {
  std::string names;
  for (const LocalPort& port : ports_) names += (names.empty() ? "" : ", ") + port.name;
  return names;
}

bool LocalPorts::are_ready() const {
  return std::ranges::all_of(ports_, [](const LocalPort& port) { return port.engine->is_ready(); });
}

}  // namespace ib::tools::exporter
