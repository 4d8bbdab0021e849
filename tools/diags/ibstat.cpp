// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstat of infiniband-diags: the InfiniBand devices and ports of this host, from sysfs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "sys/device.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{
    {"list_of_cas", 'l', nullptr, "list all IB devices"},
    {"short", 's', nullptr, "short output"},
    {"port_list", 'p', nullptr, "show port list"},
};
constexpr const char* examples[]{"-l       # list all IB devices", "mthca0 2 # stat port 2 of 'mthca0'"};
constexpr Tool ibstat_tool{"ibstat", "<ca_name> [portnum]", "CDeGKLPstyY", options, examples};

constexpr std::array<const char*, 5> states{"???", "Down", "Initializing", "Armed", "Active"};
constexpr std::array<const char*, 8> physical_states{"No state change",           "Sleep",  "Polling",           "Disabled",
                                                     "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest"};

template <std::size_t N>
const char* word(const std::array<const char*, N>& words, unsigned number) {
  return number < N ? words[number] : "???";
}

const char* node_type(const sys::Device& device) {
  constexpr std::array<const char*, 4> types{"???", "CA", "Switch", "Router"};
  return word(types, device.node_type);
}

unsigned highest_port(const sys::Device& device) { return device.ports.empty() ? 0 : device.ports.back()->number; }

/// The whole number at the front of sysfs's "40 Gb/sec (4X QDR)".
unsigned rate(const sys::EndPort& port) {
  unsigned value = 0;
  std::from_chars(port.rate_text.data(), port.rate_text.data() + port.rate_text.size(), value);
  return value;
}

std::string rate_text(const sys::EndPort& port) {
  const unsigned value = rate(port);
  std::string text = port.rate_text;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (text.find("fdr10)") != std::string::npos) return fmt::format("{} (FDR10)", value);
  return value == 2 ? "2.5" : std::to_string(value);  // 1X SDR
}

void print_device(tools::TextOut& out, const sys::Device& device) {
  out.print("{} '{}'\n", node_type(device), printable(device.name));
  out.print("\t{} type: {}\n", node_type(device), printable(device.ca_type));
  out.print("\tNumber of ports: {}\n", highest_port(device));
  out.print("\tFirmware version: {}\n", printable(device.firmware));
  out.print("\tHardware version: {}\n", printable(device.hardware));
  out.print("\tNode GUID: 0x{:016x}\n", device.node_guid.value);
  out.print("\tSystem image GUID: 0x{:016x}\n", device.system_image_guid.value);
}

void print_port(tools::TextOut& out, const sys::EndPort& port, bool alone) {
  const char* indent = alone ? "" : "\t\t";
  out.print("{}Port {}:\n", alone ? "" : "\t", port.number);
  out.print("{}State: {}\n", indent, word(states, port.state));
  out.print("{}Physical state: {}\n", indent, word(physical_states, port.phys_state));
  out.print("{}Rate: {}\n", indent, rate_text(port));
  out.print("{}Base lid: {}\n", indent, port.lid.value);
  out.print("{}LMC: {}\n", indent, port.lmc);
  out.print("{}SM lid: {}\n", indent, port.sm_lid.value);
  out.print("{}Capability mask: 0x{:08x}\n", indent, port.capability_mask);
  out.print("{}Port GUID: 0x{:016x}\n", indent, port.port_guid().value);
  out.print("{}Link layer: {}\n", indent, port.link_layer_text.empty() ? "IB" : printable(port.link_layer_text));
}

class Ibstat : public Legacy {
 public:
  const Tool& tool() const override { return ibstat_tool; }

  void option(int letter, const char* /*value*/, Settings& /*settings*/) override {
    if (letter == 'l') list_ = true;
    if (letter == 's') short_ = true;
    if (letter == 'p') port_list_ = true;
  }

  async::Task<> run(Context& context) override {
    for (const sys::Device* device : chosen(context)) {
      if (port_list_) {
        for (const auto& port : device->ports)
          if (port->port_guid().value != 0) context.out.print("0x{:016x}\n", port->port_guid().value);
      } else if (list_) {
        context.out.print("{}\n", printable(device->name));
      } else {
        print(context, *device);
      }
    }
    co_return;
  }

 private:
  /// The devices that the arguments name, in the order of their names as strings.
  std::vector<const sys::Device*> chosen(Context& context) const {
    std::vector<const sys::Device*> devices;
    for (const auto& device : context.session.devices().devices()) {
      const bool named = context.arguments.empty() || device->name == context.arguments[0];
      if (named && device->node_type >= 1 && device->node_type <= 3) devices.push_back(device.get());
    }
    if (devices.empty() && !context.arguments.empty())
      throw Panic("main", fmt::format("'{}' IB device can't be found", context.arguments[0]), 0);
    std::sort(devices.begin(), devices.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    return devices;
  }

  void print(Context& context, const sys::Device& device) const {
    const long number = context.number(1, -1);
    if (short_ || number < 0) {
      print_device(context.out, device);
      if (short_) return;
      for (const auto& port : device.ports) print_port(context.out, *port, false);
      return;
    }
    const sys::EndPort* port = device.port(static_cast<unsigned>(number));
    if (port == nullptr) {
      context.out.flush();
      warn("ca_stat",
           fmt::format("{}: '{}' has no port number {} - max ({})", node_type(device), device.name, number, highest_port(device)));
      throw Panic("main", fmt::format("stat of IB device '{}' failed", device.name), ENOENT);
    }
    context.out.print("{}: '{}'\n", node_type(device), printable(device.name));
    print_port(context.out, *port, true);
  }

  bool list_ = false, short_ = false, port_list_ = false;
};

}  // namespace

int ibstat(std::span<char* const> words) { return run_legacy<Ibstat>(words); }

}  // namespace ib::diags
