// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports as PortInfo describes them: states, LIDs, LMCs. And the two ends of each link: widths, speeds, FEC, MTU, VLs. A setting that a
// whole class of ports or links shares is a decision of somebody, and is reported once.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "health/checks/common.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

using subnet::LinkRate;

/// Whether no subnet manager sets ports to Active: none is master, or no link is Active.
bool is_without_manager(const Input& input) {
  const auto is_master = [](const Manager& manager) { return manager.info.sm_state == smp::SMState::master; };
  const auto is_active = [](const subnet::Port& port) { return port.number != 0 && subnet::is_link_active(port); };
  const bool has_no_master = input.has_read_managers && input.silent_managers == 0 && std::ranges::none_of(input.managers, is_master);
  return has_no_master || std::ranges::none_of(input.subnet.ports(), is_active);
}

/// Ports whose links are trained and in a state in which packets do not pass.
std::vector<PortIndex> ports_in_state(const Subnet& subnet, smp::PortState state) {
  return subnet.ports_where([&](PortIndex at) {
    const subnet::Port& port = subnet.port(at);
    return port.number != 0 && port.is_link_up() && port.state() == state;
  });
}

void find_state(const Input& input, Findings& findings, smp::PortState state) {
  for (const PortIndex at : ports_in_state(input.subnet, state))
    findings.push_back(on_cable(input.subnet, at, {field_value("portState", 0, code(state))}));
}

void find_initialize(const Input& input, Findings& findings) {
  std::vector<PortIndex> ports = ports_in_state(input.subnet, smp::PortState::init);
  if (ports.size() < 2 || !is_without_manager(input)) return find_state(input, findings, smp::PortState::init);
  std::ranges::sort(ports, {}, [&input](PortIndex at) { return place_order(input.subnet, at); });
  Finding& all = findings.emplace_back(on_ports(input.subnet, ports, Finding::Subject::group));
  for (std::size_t end = 0; end < ports.size(); ++end) all.evidence.push_back(field_value("portState", end, code(smp::PortState::init)));
  all.detail = "No subnet manager is active, or none reaches them.";
}

void find_zero_lids(const Input& input, Findings& findings) {
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (!input.subnet.lid(at).is_unicast())
      findings.push_back(on_port(input.subnet, at, {field_value("LID", 0, number(input.subnet.lid(at).value))}));
  }
}

void find_duplicate_lids(const Input& input, Findings& findings) {
  const auto owners = subnet::contested_lids(input.subnet);
  std::set<std::vector<PortIndex>, SequenceLess> known;  // ports with an LMC share several LIDs
  for (const auto& [lid, ports] : owners) {
    if (!known.insert(ports).second) continue;
    Finding& finding = findings.emplace_back(on_ports(input.subnet, ports));
    for (std::size_t end = 0; end < ports.size(); ++end)
      finding.evidence.push_back(field_value("LID", end, number(input.subnet.lid(ports[end]).value)));
    finding.detail = ports.size() == 2 ? fmt::format("Both have LID {}.", lid) : fmt::format("These {} have LID {}.", ports.size(), lid);
  }
}

void find_other_lmcs(const Input& input, Findings& findings) {
  std::map<unsigned, std::vector<PortIndex>> by_lmc;  // of channel adapters and routers: switches have a rule of their own
  std::size_t count = 0;
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (input.subnet.port(at).number == 0) continue;
    by_lmc[input.subnet.lmc(at)].push_back(at);
    ++count;
  }
  if (by_lmc.size() < 2) return;
  const auto most = std::ranges::max_element(by_lmc, {}, [](const auto& of) { return of.second.size(); });
  if (2 * most->second.size() <= count) return;  // half of the ports are not most of them
  for (const auto& [lmc, ports] : by_lmc) {
    if (lmc == most->first) continue;
    for (const PortIndex at : ports) findings.push_back(on_port(input.subnet, at, {field_value("LMC", 0, number(lmc), most->first)}));
  }
}

bool is_less(const LinkRate& a, const LinkRate& b) { return a.lanes < b.lanes || a.speed < b.speed; }

/// The first end of each link both of whose ends are as `is_meant` says: subnet::is_trained, subnet::is_link_active.
std::vector<PortIndex> links_of(const Subnet& subnet, bool (*is_meant)(const subnet::Port& port)) {
  std::vector<PortIndex> links = first_ends(subnet);
  std::erase_if(links, [&](PortIndex at) { return !is_meant(subnet.port(at)) || !is_meant(subnet.port(subnet.port(at).peer)); });
  return links;
}

using DeviceType = std::tuple<std::uint32_t, std::uint16_t>;  // vendor and device ID
DeviceType device_of(const Subnet& subnet, PortIndex at) {
  const smp::NodeInfo& info = subnet.node(subnet.port(at).node).info;
  return {info.vendor_id, info.device_id};
}

/// Adds evidence of the width and the speed of a rate where they are below `limit`.
void add_rate(Finding& finding, std::size_t end, std::string_view width_field, std::string_view speed_field, const LinkRate& rate,
              const LinkRate& limit) {
  if (rate.lanes < limit.lanes) finding.evidence.push_back(field_value(width_field, end, width_value(rate), limit.lanes));
  if (rate.speed >= limit.speed) return;
  finding.evidence.push_back(field_value(speed_field, end, speed_value(rate), subnet::lane_mbps(limit.speed)));
  finding.evidence.back().limit_word = subnet::name(limit.speed);
}

template <class Get>
void find_unequal(const Input& input, Findings& findings, std::string_view field, Get get) {
  for (const PortIndex at : links_of(input.subnet, subnet::is_link_active)) {
    const Value here = get(at), there = get(input.subnet.port(at).peer);
    if (!here.known() || !there.known() || here.number == there.number) continue;
    findings.push_back(on_cable(input.subnet, at, {field_value(field, 0, here), field_value(field, 1, there)}));
  }
}

void add_grouped(const Input& input, const std::vector<PortIndex>& ports, std::string detail, Findings& findings) {
  Finding& group = findings.emplace_back(on_ports(input.subnet, ports, Finding::Subject::group));
  group.level = Level::info;
  group.detail = std::move(detail);
}

/// The enabled part of the abilities of a port.
struct Setting {
  LinkRate enabled, supported;
  auto operator<=>(const Setting&) const = default;
};

struct Configured {
  PortIndex at{};
  DeviceType device{}, other{};  ///< of the node, and of the node at the other end
  Setting setting;
  bool agrees{};  ///< the other end enables no more of what this port supports: both ends of the cable were set
};

LinkRate supported_part(const LinkRate& rate, const Setting& setting) {
  return {std::min(rate.lanes, setting.supported.lanes), std::min(rate.speed, setting.supported.speed)};
}

std::vector<Configured> configured_ports(const Subnet& subnet) {
  std::vector<Configured> ports;
  for (const PortIndex link : links_of(subnet, subnet::is_trained)) {
    const PortIndex peer = subnet.port(link).peer;
    for (const auto& [at, other] : {std::pair{link, peer}, {peer, link}}) {
      const Setting setting{subnet::enabled_at_port(subnet, at), subnet::supported_by_port(subnet, at)};
      const LinkRate there = subnet::enabled_at_port(subnet, other);
      const bool agrees = there.known() && !is_less(setting.enabled, supported_part(there, setting));
      if (setting.enabled.known() && setting.supported.known())
        ports.push_back({at, device_of(subnet, at), device_of(subnet, other), setting, agrees});
      if (link == peer) break;
    }
  }
  return ports;
}

/// Ports of one class, and how many of them have each setting.
struct PortClass {
  std::vector<PortIndex> ports;
  std::map<Setting, std::size_t> settings;

  void add(const Configured& port) {
    ports.push_back(port.at);
    ++settings[port.setting];
  }
  bool is_of_most(const Setting& setting) const { return 2 * settings.at(setting) > ports.size(); }
  const Setting& usual() const {
    return std::ranges::max_element(settings, {}, [](const auto& setting) { return setting.second; })->first;
  }
  /// The greater width or speed that the most ports have enabled, if more than nine of ten have a greater one than `own`; else `own`.
  template <class T>
  T usual_above(T LinkRate::*part, T own) const {
    std::map<T, std::size_t> greater;
    std::size_t above = 0;
    for (const auto& [setting, count] : settings) {
      if (setting.enabled.*part <= own) continue;
      greater[setting.enabled.*part] += count;
      above += count;
    }
    if (10 * above <= 9 * ports.size()) return own;
    return std::ranges::max_element(greater, {}, [](const auto& of) { return of.second; })->first;
  }
};

/// Settings that look like decisions: of more than half of the ports of a device, or of its ports that lead to one device, if at
/// least three of these agree. A port that deviates from them, and from the other end of its cable, is an accident. So is a port that
/// agrees with the other end, if nearly all links between such devices have more enabled.
class Decisions {
 public:
  explicit Decisions(const std::vector<Configured>& ports) {
    for (const Configured& port : ports) {
      devices_[port.device].add(port);
      kinds_[{port.device, port.other}].add(port);
    }
  }
  bool has(const Configured& port) const {
    const PortClass &all = devices_.at(port.device), &alike = kinds_.at({port.device, port.other});
    return all.is_of_most(port.setting) || (alike.is_of_most(port.setting) && alike.settings.at(port.setting) >= least_alike);
  }
  /// The usual width or speed, or both, where more than nine of ten ports of the device that lead to such a device have a greater one
  /// enabled than the port, and the port supports more than it has; else nothing. Width and speed are compared apart from each other. One
  /// port that deviates from nine others is not enough: at least eleven links are compared.
  std::optional<LinkRate> deviates(const Configured& port) const {
    const PortClass& alike = kinds_.at({port.device, port.other});
    const LinkRate& own = port.setting.enabled;
    const LinkRate usual{alike.usual_above(&LinkRate::lanes, own.lanes), alike.usual_above(&LinkRate::speed, own.speed)};
    const LinkRate possible = supported_part(usual, port.setting);
    return is_less(own, possible) ? std::optional(possible) : std::nullopt;
  }
  std::size_t ports_of(const DeviceType& device) const { return devices_.at(device).ports.size(); }

 private:
  static constexpr std::size_t least_alike = 3;
  std::map<DeviceType, PortClass> devices_;
  std::map<std::pair<DeviceType, DeviceType>, PortClass> kinds_;
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
  std::map<DeviceType, PortClass> decided;
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
  const Subnet& subnet = input.subnet;
  using LinkKind = std::tuple<DeviceType, DeviceType, std::string, std::string>;
  std::map<LinkKind, std::vector<PortIndex>> kinds;
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

}  // namespace

std::span<const Check> port_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"port-init", error, needs(), "The link is up, but no subnet manager has configured it: only management packets pass.",
       "Check whether a subnet manager runs ({find_manager}), and look in its log why it skips this port: P_Key, LID, duplicate GUID.",
       find_initialize, is_of_link},
      {"port-armed", error, needs(), "The subnet manager stopped half-way, or the other end is not ready.",
       "Have the subnet manager sweep again; if the port stays Armed, reset it ({reset_port}).",
       [](const Input& input, Findings& findings) { find_state(input, findings, smp::PortState::armed); }, is_of_link},
      {"lid-zero", error, needs(), "The port is Active and has no LID: nothing can be sent to it.",
       "Have the subnet manager sweep again, and look at its log.", find_zero_lids, is_of_link},
      {"lid-duplicate", error, needs(), "Several ports have the same LID: packets for one of them reach another.",
       "Check whether two subnet managers are master ({find_manager}); then have one sweep again.", find_duplicate_lids},
      {"lmc-mismatch", warning, needs(),
       "The port has another LMC than most: it has fewer, or more, LIDs and paths than the subnet manager plans.",
       "Look at the lmc of the subnet manager's configuration, and have it sweep again.", find_other_lmcs},
      {"link-slow", error, needs(),
       "The link runs below the width or speed that both ends have enabled: a lane is lost, or training failed.",
       "Unplug the cable, clean it and plug it in again; if the link stays slow, replace it.", find_slow_links, is_of_link},
      {"link-misconfigured", warning, needs(), "The port supports more than is enabled.", "Enable it unless this is intended ({set_rate}).",
       find_misconfigured_ports},
      {"link-misconnected", info, needs(),
       "The ends of the link support different widths or speeds: by design, or the cable is in the wrong port.",
       "Nothing if this is intended; else move the cable to a port that supports as much.", find_misconnected_links, is_of_link},
      {"fec-mismatch", warning, needs(fec), "The ends use different FEC modes: one counts errors that the other would correct.",
       "Set the same FEC mode at both ends, or update the older firmware.",
       [](const Input& input, Findings& findings) {
         find_unequal(input, findings, "FECModeActive", [&input](PortIndex at) {
           const auto mode = input.fec_modes.find(at);
           return mode == input.fec_modes.end() ? Value{} : code(mode->second);
         });
       }},
      {"mtu-mismatch", warning, needs(), "Packets longer than the smaller MTU are discarded.",
       "Have the subnet manager sweep again, and look at its log.",
       [](const Input& input, Findings& findings) {
         find_unequal(input, findings, "neighborMTU", [&input](PortIndex at) { return code(input.subnet.port(at).info().neighbor_mtu); });
       },
       is_of_link},
      {"vl-mismatch", info, needs(), "The ends use different numbers of virtual lanes: packets on the others are discarded.",
       "Have the subnet manager sweep again; look at max_op_vls in its configuration.",
       [](const Input& input, Findings& findings) {
         const auto get = [&input](PortIndex at) { return code(input.subnet.port(at).info().operational_vls); };
         find_unequal(input, findings, "operationalVLs", get);
       },
       is_of_link},
  };
  return checks;
}

}  // namespace ib::health
