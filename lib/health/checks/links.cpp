// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Compares the two ends of each link: widths, speeds, FEC, MTU, VLs. A setting that a whole class of ports or links shares is a decision of
// somebody, and is reported once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

using subnet::LinkRate;
using subnet::PortIndex;

std::string rate_text(const LinkRate& rate) { return fmt::format("{}x {}", rate.lanes, subnet::name(rate.speed)); }

bool is_less(const LinkRate& a, const LinkRate& b) { return a.lanes < b.lanes || a.speed < b.speed; }

/// The first end of each link both of whose ends are as `is_meant` says: subnet::is_trained, subnet::is_link_active.
std::vector<PortIndex> links_of(const subnet::Subnet& subnet, bool (*is_meant)(const subnet::Port& port)) {
  std::vector<PortIndex> links = first_ends(subnet);
  std::erase_if(links, [&](PortIndex at) { return !is_meant(subnet.port(at)) || !is_meant(subnet.port(subnet.port(at).peer)); });
  return links;
}

using Device = std::tuple<std::uint32_t, std::uint16_t>;  // vendor and device ID
Device device_of(const subnet::Subnet& subnet, PortIndex at) {
  const smp::NodeInfo& info = subnet.node(subnet.port(at).node).info;
  return {info.vendor_id, info.device_id};
}

/// Adds evidence of the width and the speed of a rate where they are below those of `limit`.
void add_rate(Finding& finding, std::size_t end, std::string_view width_field, std::string_view speed_field, const LinkRate& rate,
              const LinkRate& limit) {
  if (rate.lanes < limit.lanes) finding.evidence.push_back(field_value(width_field, end, width_value(rate), limit.lanes));
  if (rate.speed >= limit.speed) return;
  finding.evidence.push_back(field_value(speed_field, end, speed_value(rate), subnet::lane_mbps(limit.speed)));
  finding.evidence.back().limit_word = subnet::name(limit.speed);
}

/// A setting that should be the same at both ends of an Active link.
template <class Get>
void find_unequal(const Input& input, Findings& findings, std::string_view field, Get get) {
  for (const PortIndex at : links_of(input.subnet, subnet::is_link_active)) {
    const Value here = get(at), there = get(input.subnet.port(at).peer);
    if (!here.known() || !there.known() || here.number == there.number) continue;
    findings.emplace_back(on_cable(input.subnet, at)).evidence = {field_value(field, 0, here), field_value(field, 1, there)};
  }
}

/// Adds one finding of the ports or links of one class.
void add_grouped(const Input& input, const std::vector<PortIndex>& ports, std::string detail, Findings& findings) {
  Finding& group = findings.emplace_back(on_ports(input.subnet, ports, Finding::Subject::group));
  group.level = Level::info;
  group.detail = std::move(detail);
}

/// The enabled part of the abilities of a port.
struct Setting {
  LinkRate enabled, supported;
  auto key() const { return std::tuple(enabled.lanes, enabled.speed, supported.lanes, supported.speed); }
  bool operator<(const Setting& other) const { return key() < other.key(); }
};

/// A port whose link is trained.
struct Configured {
  PortIndex at{};
  Device device{}, other{};  ///< of the node, and of the node at the other end
  Setting setting;
  bool agrees{};  ///< the other end enables no more of what this port supports: both ends of the cable were set
};

/// The part of a rate that a port with these abilities supports.
LinkRate supported_part(const LinkRate& rate, const Setting& setting) {
  return {std::min(rate.lanes, setting.supported.lanes), std::min(rate.speed, setting.supported.speed)};
}

bool agrees(const subnet::Subnet& subnet, PortIndex other, const Setting& setting) {
  const LinkRate there = subnet::enabled_at_port(subnet, other);
  return there.known() && !is_less(setting.enabled, supported_part(there, setting));
}

std::vector<Configured> configured_ports(const subnet::Subnet& subnet) {
  std::vector<Configured> ports;
  for (const PortIndex link : links_of(subnet, subnet::is_trained)) {
    const PortIndex peer = subnet.port(link).peer;
    for (const auto& [at, other] : {std::pair{link, peer}, {peer, link}}) {
      const Setting setting{subnet::enabled_at_port(subnet, at), subnet::supported_by_port(subnet, at)};
      if (setting.enabled.known() && setting.supported.known())
        ports.push_back({at, device_of(subnet, at), device_of(subnet, other), setting, agrees(subnet, other, setting)});
      if (link == peer) break;
    }
  }
  return ports;
}

/// Settings that look like decisions: those of more than half of the ports of a device, or of its ports that lead to one device, if at
/// least three of these agree. A port that deviates from them, and from the other end of its cable, is an accident. So is a port that
/// agrees with the other end, if nearly all links between such devices have more enabled.
class Decisions {
 public:
  explicit Decisions(const std::vector<Configured>& ports) {
    for (const Configured& port : ports) {
      devices_[port.device].add(port.setting);
      kinds_[{port.device, port.other}].add(port.setting);
    }
  }
  bool has(const Configured& port) const {
    const Ports &all = devices_.at(port.device), &alike = kinds_.at({port.device, port.other});
    return all.is_of_most(port.setting) || (alike.is_of_most(port.setting) && alike.settings.at(port.setting) >= least_alike);
  }
  /// The usual width or speed, or both, where more than nine of ten ports of the device that lead to such a device have a greater one
  /// enabled than the port, and the port supports more than it has; else nothing. Width and speed are compared apart from each other. One
  /// port that deviates from nine others is not enough: at least eleven links are compared.
  std::optional<LinkRate> deviates(const Configured& port) const {
    const Ports& alike = kinds_.at({port.device, port.other});
    const LinkRate& own = port.setting.enabled;
    const LinkRate usual{alike.usual_above(&LinkRate::lanes, own.lanes), alike.usual_above(&LinkRate::speed, own.speed)};
    const LinkRate possible = supported_part(usual, port.setting);
    return is_less(own, possible) ? std::optional(possible) : std::nullopt;
  }
  std::size_t ports_of(const Device& device) const { return devices_.at(device).count; }

 private:
  static constexpr std::size_t least_alike = 3;
  struct Ports {
    std::size_t count{};
    std::map<Setting, std::size_t> settings;
    void add(const Setting& setting) {
      ++count;
      ++settings[setting];
    }
    /// The greater width or speed that the most ports have enabled, if more than nine of ten have a greater one than `own`; else `own`.
    template <class T>
    T usual_above(T LinkRate::*part, T own) const {
      std::map<T, std::size_t> greater;
      std::size_t above = 0;
      for (const auto& [setting, ports] : settings) {
        if (setting.enabled.*part <= own) continue;
        greater[setting.enabled.*part] += ports;
        above += ports;
      }
      if (10 * above <= 9 * count) return own;
      return std::ranges::max_element(greater, {}, [](const auto& of) { return of.second; })->first;
    }
    bool is_of_most(const Setting& setting) const { return 2 * settings.at(setting) > count; }
  };
  std::map<Device, Ports> devices_;
  std::map<std::pair<Device, Device>, Ports> kinds_;
};

/// The ports of a device whose settings are decisions.
struct Decided {
  std::vector<PortIndex> ports;
  std::map<Setting, std::size_t> settings;

  void add(const Configured& port) {
    ports.push_back(port.at);
    ++settings[port.setting];
  }
  /// The setting of the most ports.
  const Setting& usual() const {
    return std::ranges::max_element(settings, {}, [](const auto& setting) { return setting.second; })->first;
  }
};

void find_slow_links(const Input& input, Findings& findings) {
  for (const PortIndex at : links_of(input.subnet, subnet::is_trained)) {
    const LinkRate enabled = subnet::enabled_rate(input.subnet, at), active = subnet::active_rate(input.subnet, at);
    if (!enabled.known() || !active.known() || !is_less(active, enabled)) continue;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
    add_rate(finding, 0, "linkWidthActive", "linkSpeedActive", active, enabled);
    finding.detail = fmt::format("It runs at {} where both ends have {} enabled.", rate_text(active), rate_text(enabled));
  }
}

void find_misconfigured_ports(const Input& input, Findings& findings) {
  const std::vector<Configured> ports = configured_ports(input.subnet);
  const Decisions decisions(ports);
  std::map<Device, Decided> decided;
  for (const Configured& port : ports) {
    if (!is_less(port.setting.enabled, port.setting.supported)) continue;
    const std::optional<LinkRate> usual = port.agrees ? decisions.deviates(port) : std::nullopt;
    if (decisions.has(port) || (port.agrees && !usual)) {
      decided[port.device].add(port);
      continue;
    }
    Finding& finding = findings.emplace_back(on_cable(input.subnet, port.at));
    add_rate(finding, 0, "linkWidthEnabled", "linkSpeedEnabled", port.setting.enabled, usual.value_or(port.setting.supported));
    if (usual) finding.detail = "Nearly all links between such devices have more enabled.";
  }
  for (const auto& [device, reduced] : decided) {
    const Setting& setting = reduced.usual();
    add_grouped(input, reduced.ports,
                fmt::format("{} of {} linked ports of device {:#x} have less enabled than they support, {}{} of {}: apparently on purpose.",
                            reduced.ports.size(), decisions.ports_of(device), std::get<1>(device),
                            reduced.settings.size() > 1 ? "most of them " : "", rate_text(setting.enabled), rate_text(setting.supported)),
                findings);
  }
}

void find_misconnected_links(const Input& input, Findings& findings) {
  const subnet::Subnet& subnet = input.subnet;
  using Kind = std::tuple<Device, Device, std::string, std::string>;
  std::map<Kind, std::vector<PortIndex>> kinds;
  for (PortIndex at : links_of(subnet, subnet::is_trained)) {
    PortIndex peer = subnet.port(at).peer;
    LinkRate here = subnet::supported_by_port(subnet, at), there = subnet::supported_by_port(subnet, peer);
    if (!here.known() || !there.known() || here == there) continue;
    if (device_of(subnet, peer) < device_of(subnet, at)) {  // alike, whichever end is the first one
      std::swap(at, peer);
      std::swap(here, there);
    }
    kinds[{device_of(subnet, at), device_of(subnet, peer), rate_text(here), rate_text(there)}].push_back(at);
  }
  for (const auto& [kind, links] : kinds) {
    const auto& [device, other, rate, other_rate] = kind;
    std::string detail = fmt::format("Device {:#x} supports {}, device {:#x} at the other end {}.", std::get<1>(device), rate,
                                     std::get<1>(other), other_rate);
    if (links.size() > 1) {
      add_grouped(input, links, std::move(detail), findings);
      continue;
    }
    Finding& finding = findings.emplace_back(on_cable(subnet, links.front()));
    for (const std::size_t end : {0U, 1U}) {
      const LinkRate supported = subnet::supported_by_port(subnet, finding.ends[end].port);
      finding.evidence.push_back(field_value("linkWidthSupported", end, width_value(supported)));
      finding.evidence.push_back(field_value("linkSpeedSupported", end, speed_value(supported)));
    }
    finding.detail = std::move(detail);
  }
}

void find_fec_mismatches(const Input& input, Findings& findings) {
  find_unequal(input, findings, "FECModeActive", [&input](PortIndex at) {
    const auto mode = input.fec_modes.find(at);
    if (mode == input.fec_modes.end()) return Value{};
    return Value{static_cast<std::uint64_t>(mode->second), to_text(mode->second)};
  });
}

void find_mtu_mismatches(const Input& input, Findings& findings) {
  find_unequal(input, findings, "neighborMTU", [&input](PortIndex at) {
    const smp::Mtu mtu = input.subnet.port(at).info().neighbor_mtu;
    return Value{static_cast<std::uint64_t>(mtu), to_text(mtu)};
  });
}

void find_vl_mismatches(const Input& input, Findings& findings) {
  find_unequal(input, findings, "operationalVLs", [&input](PortIndex at) {
    const smp::VLCap vls = input.subnet.port(at).info().operational_vls;
    return Value{static_cast<std::uint64_t>(vls), to_text(vls)};
  });
}

}  // namespace

std::span<const Check> link_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"link-slow",
       error,
       {},
       "The link runs below the width or speed that both ends have enabled: a lane is lost, or training failed.",
       "Unplug the cable, clean it and plug it in again; if the link stays slow, replace it.",
       find_slow_links},
      {"link-misconfigured",
       warning,
       {},
       "The port supports more than is enabled.",
       "Enable it unless this is intended (ibtool ibportstate width, speed).",
       find_misconfigured_ports},
      {"link-misconnected",
       info,
       {},
       "The ends of the link support different widths or speeds: by design, or the cable is in the wrong port.",
       "Nothing if this is intended; else move the cable to a port that supports as much.",
       find_misconnected_links},
      {"fec-mismatch", warning, needs(fec), "The ends use different FEC modes: one counts errors that the other would correct.",
       "Set the same FEC mode at both ends, or update the older firmware.", find_fec_mismatches},
      {"mtu-mismatch",
       warning,
       {},
       "Packets longer than the smaller MTU are discarded.",
       "Have the subnet manager sweep again, and look at its log.",
       find_mtu_mismatches},
      {"vl-mismatch",
       info,
       {},
       "The ends use different numbers of virtual lanes: packets on the others are discarded.",
       "Have the subnet manager sweep again; look at max_op_vls in its configuration.",
       find_vl_mismatches},
  };
  return checks;
}

}  // namespace ib::health
