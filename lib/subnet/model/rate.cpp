// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Speeds are ordered from slow to fast, so the best speed of a mask is its highest bit.
#include "subnet/model/rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "iba/libibmad_text.hpp"

namespace ib::subnet {
namespace {

/// A set of speeds: bit s is Speed s.
using SpeedSet = std::uint32_t;
constexpr SpeedSet bit(Speed speed) { return 1U << static_cast<unsigned>(speed); }

/// The bits of each field are consecutive speeds: SDR to QDR, FDR to NDR, XDR.
SpeedSet speeds(unsigned basic, unsigned extended, unsigned extended2) {
  return (basic & 7U) * bit(Speed::sdr) | (extended & 15U) * bit(Speed::fdr) | (extended2 & 1U) * bit(Speed::xdr);
}

Speed fastest(SpeedSet set) { return set == 0 ? Speed::unknown : static_cast<Speed>(std::bit_width(set) - 1); }

unsigned widest(unsigned mask) {
  unsigned most = 0;
  for (unsigned code = 1; code <= 16; code *= 2) {
    if (mask & code) most = std::max(most, lanes(code));
  }
  return most;
}

struct ExtendedSpeeds {
  bool first = true, second = true;
};

ExtendedSpeeds extended_speeds(const Subnet& subnet, PortIndex port) {
  const Port& end = subnet.port(subnet.end_port_of(port));
  if (!end.has_info) return {};
  const smp::PortInfo info = end.info();
  const bool has_mask2 = (info.capability_mask & smp::capability_mask::is_capability_mask2_supported) != 0;
  return {(info.capability_mask & smp::capability_mask::is_extended_speeds_supported) != 0,
          has_mask2 && (info.capability_mask2 & smp::capability_mask2::is_extended_speeds2_supported) != 0};
}

/// The capabilities of a port: widths as LinkWidth codes, and speeds.
struct Abilities {
  unsigned widths{};
  SpeedSet speeds{};
  LinkRate best() const { return {widest(widths), fastest(speeds)}; }
};

bool supports_fdr10(const Port& port) { return ((port.fdr10_supported | port.fdr10) & 1U) != 0; }

/// `extended` and `extended2` are used only if the port has these fields.
SpeedSet speeds_of(const Subnet& subnet, PortIndex at, unsigned basic, unsigned extended, unsigned extended2) {
  const ExtendedSpeeds has = extended_speeds(subnet, at);
  return (supports_fdr10(subnet.port(at)) ? bit(Speed::fdr10) : 0U) |
         speeds(basic, has.first ? extended : 0U, has.first && has.second ? extended2 : 0U);
}

Abilities supported(const Subnet& subnet, PortIndex at) {
  const smp::PortInfo info = subnet.port(at).info();
  return {info.link_width_supported,
          speeds_of(subnet, at, info.link_speed_supported, info.link_speed_ext_supported, info.link_speed_ext_supported2)};
}

/// Values that mean "all supported values" have all bits set, so that they need no special case.
Abilities enabled(const Subnet& subnet, PortIndex at) {
  constexpr unsigned extended_disabled = 30;  // IBA 14.2.5.6: LinkSpeedExtEnabled
  const smp::PortInfo info = subnet.port(at).info();
  const unsigned extended = info.link_speed_ext_enabled == extended_disabled ? 0U : info.link_speed_ext_enabled;
  Abilities can = supported(subnet, at);
  can.widths &= info.link_width_enabled;
  can.speeds &= speeds_of(subnet, at, info.link_speed_enabled, extended, info.link_speed_ext_enabled2);
  return can;
}

LinkRate best_of_both(const Subnet& subnet, PortIndex at, Abilities (*abilities)(const Subnet&, PortIndex)) {
  const Port& port = subnet.port(at);
  if (port.peer == none || !port.has_info || !subnet.port(port.peer).has_info) return {};
  const Abilities here = abilities(subnet, at), there = abilities(subnet, port.peer);
  return Abilities{here.widths & there.widths, here.speeds & there.speeds}.best();
}

/// "14.0625 Gbps"
std::string speed_text(Speed speed) {
  const std::string gbps = fmt::format("{}", lane_mbps(speed) / 1000);
  return gbps + (gbps.find('.') == std::string::npos ? ".0 Gbps" : " Gbps");
}

std::string speed_that_could_be(const LinkRate& now, const LinkRate& best) {
  if (now.speed >= best.speed) return "";
  if (best.speed != Speed::fdr10) return "Could be " + speed_text(best.speed);
  // PortInfo has the same value for QDR and FDR10.
  return now.speed == Speed::qdr ? "Could be FDR10 (Found link at QDR but expected speed is FDR10)" : "Could be FDR10";
}

}  // namespace

std::string_view name(Speed speed) {
  constexpr std::array<std::string_view, 10> names{"", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"};
  return names[static_cast<unsigned>(speed)];
}

double lane_mbps(Speed speed) {
  constexpr std::array<double, 10> rates{0, 2500, 5000, 10000, 10312.5, 14062.5, 25781.25, 53125, 106250, 212500};  // multiples of 1/4
  return rates[static_cast<unsigned>(speed)];
}

double lane_data_mbps(Speed speed) {
  constexpr std::array<double, 10> rates{0, 2000, 4000, 8000, 10000, 14062.5 * 64 / 66, 25000, 50000, 100000, 200000};
  return rates[static_cast<unsigned>(speed)];
}

unsigned lanes(unsigned width_code) {
  constexpr std::array<unsigned, 5> of_bit{1, 4, 8, 12, 2};
  return std::has_single_bit(width_code) && width_code <= 16 ? of_bit[static_cast<std::size_t>(std::countr_zero(width_code))] : 0;
}

bool may_run_at_fdr10(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  return active_rate(subnet, at).speed == Speed::qdr && port.fdr10_supported == 0;
}

LinkRate active_rate(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  return port.has_info ? active_rate(subnet, at, port.info()) : LinkRate{};
}

LinkRate active_rate(const Subnet& subnet, PortIndex at, const smp::PortInfo& info) {
  const Port& port = subnet.port(at);
  SpeedSet active = speeds(info.link_speed_active, 0, 0);
  if ((port.fdr10 & 1U) != 0 && info.link_speed_active == port.info().link_speed_active) active = bit(Speed::fdr10);
  if (const ExtendedSpeeds has = extended_speeds(subnet, at); has.first) {
    const unsigned xdr = has.second ? info.link_speed_ext_active2 : 0U;
    if (const SpeedSet extended = speeds(0, info.link_speed_ext_active, xdr); extended != 0) active = extended;
  }
  return {lanes(info.link_width_active), fastest(active)};
}

LinkRate best_rate(const Subnet& subnet, PortIndex at) { return best_of_both(subnet, at, supported); }

LinkRate enabled_rate(const Subnet& subnet, PortIndex at) { return best_of_both(subnet, at, enabled); }

LinkRate supported_by_port(const Subnet& subnet, PortIndex at) {
  return subnet.port(at).has_info ? supported(subnet, at).best() : LinkRate{};
}

LinkRate enabled_at_port(const Subnet& subnet, PortIndex at) { return subnet.port(at).has_info ? enabled(subnet, at).best() : LinkRate{}; }

std::string diags_link_text(const Subnet& subnet, PortIndex at, bool known) {
  const Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  const std::string state = fmt::format("{:>6}/{:>8})", libibmad_text(LibibmadText::portstate, static_cast<unsigned>(port.state()), 4),
                                        libibmad_text(LibibmadText::physportstate, static_cast<unsigned>(port.physical_state()), 4));
  if (port.state() == smp::PortState::down) return "(              " + state;
  const Speed now = known ? active_rate(subnet, at).speed : Speed::unknown;
  const std::string speed = now == Speed::fdr10  ? "10.0 Gbps (FDR10)"
                            : now > Speed::fdr10 ? speed_text(now)
                                                 : libibmad_text(LibibmadText::linkspeed, known ? info.link_speed_active : 0U, 4);
  return fmt::format("({:>3} {:>18} {}", libibmad_text(LibibmadText::linkwidth, known ? info.link_width_active : 0U, 8), speed, state);
}

std::string diags_could_be(const Subnet& subnet, PortIndex at) {
  const LinkRate now = active_rate(subnet, at), best = best_rate(subnet, at);
  return (now.lanes < best.lanes ? fmt::format("Could be {}X ", best.lanes) : " ") + speed_that_could_be(now, best);
}

}  // namespace ib::subnet
