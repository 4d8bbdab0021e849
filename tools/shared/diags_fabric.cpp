// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/diags_fabric.hpp"

#include <fmt/format.h>

#include <bit>

#include "iba/libibmad_text.hpp"

namespace ib::tools {
namespace {

// PortInfo.CapabilityMask, CapabilityMask2 (IBA 14.2.5.6)
constexpr std::uint32_t has_extended_speeds = 1U << 14, has_capability_mask2 = 1U << 15;
constexpr std::uint16_t has_extended_speeds2 = 1U << 11;
constexpr unsigned qdr = 4;        // PortInfo.LinkSpeedActive
constexpr unsigned fdr10_bit = 1;  // in the speeds of MlnxExtPortInfo

std::string width_text(unsigned code) { return libibmad_text(LibibmadText::linkwidth, code, 8); }
std::string speed_text(unsigned code) { return libibmad_text(LibibmadText::linkspeed, code, 4); }
/// A speed of LinkSpeedExt, and from bit 5 on of LinkSpeedExt2.
std::string extended_speed_text(unsigned code) {
  constexpr unsigned xdr = 32;
  return code == xdr ? libibmad_text(LibibmadText::linkspeedext2, 1, 2) : libibmad_text(LibibmadText::linkspeedext, code, 4);
}

/// The extended speeds of a port that are valid. The CapabilityMask of its end port decides this.
struct ExtendedSpeeds {
  unsigned active{}, supported{};
};
ExtendedSpeeds extended_speeds(const subnet::Subnet& subnet, subnet::PortIndex at) {
  const smp::PortInfo end = subnet.port(subnet.end_port_of(at)).info(), info = subnet.port(at).info();
  if ((end.capability_mask & has_extended_speeds) == 0) return {};
  ExtendedSpeeds speeds{info.link_speed_ext_active, info.link_speed_ext_supported};
  if ((end.capability_mask & has_capability_mask2) == 0 || (end.capability_mask2 & has_extended_speeds2) == 0) return speeds;
  if (info.link_speed_ext_active2 != 0) speeds.active = info.link_speed_ext_active2 << 5U;
  speeds.supported |= info.link_speed_ext_supported2 << 5U;
  return speeds;
}

/// The greatest width in a mask of widths. Note that 2X has the code 16.
unsigned widest(unsigned mask) {
  for (const unsigned code : {8U, 4U, 2U, 16U}) {
    if ((mask & code) != 0) return code;
  }
  return 1;
}

unsigned fastest(unsigned mask) { return mask == 0 ? 1 : std::bit_floor(mask); }

std::string could_be(std::string_view what) { return fmt::format("Could be {}", what); }

std::string speed_that_could_be(const subnet::Subnet& subnet, subnet::PortIndex at) {
  const subnet::Port& port = subnet.port(at);
  const subnet::Port& peer = subnet.port(port.peer);
  const ExtendedSpeeds own = extended_speeds(subnet, at), other = extended_speeds(subnet, port.peer);
  if (own.supported != 0 && other.supported != 0) {
    const unsigned best = fastest(own.supported & other.supported);
    return (best & own.active) != 0 ? "" : could_be(extended_speed_text(best));
  }
  const smp::PortInfo info = port.info(), remote = peer.info();
  if ((port.fdr10_supported & peer.fdr10_supported & fdr10_bit) != 0) {
    if ((port.fdr10 & fdr10_bit) != 0) return "";
    // PortInfo has the same value for QDR and FDR10.
    return could_be(info.link_speed_active == qdr ? "FDR10 (Found link at QDR but expected speed is FDR10)" : "FDR10");
  }
  const unsigned best = fastest(info.link_speed_supported & remote.link_speed_supported);
  return (best & info.link_speed_active) != 0 ? "" : could_be(speed_text(best));
}

}  // namespace

std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex at, bool known) {
  const subnet::Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  const std::string state = fmt::format("{:>6}/{:>8})", libibmad_text(LibibmadText::portstate, static_cast<unsigned>(port.state()), 4),
                                        libibmad_text(LibibmadText::physportstate, static_cast<unsigned>(port.physical_state()), 4));
  if (port.state() == smp::PortState::down) return "(              " + state;
  const unsigned extended = extended_speeds(subnet, at).active;
  const std::string speed = extended != 0                   ? extended_speed_text(extended)
                            : (port.fdr10 & fdr10_bit) != 0 ? "10.0 Gbps (FDR10)"
                                                            : speed_text(known ? info.link_speed_active : 0U);
  return fmt::format("({:>3} {:>18} {}", width_text(known ? info.link_width_active : 0U), speed, state);
}

std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex at) {
  const subnet::Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  const unsigned best = widest(info.link_width_supported & subnet.port(port.peer).info().link_width_supported);
  const std::string width = (best & info.link_width_active) != 0 ? "" : could_be(width_text(best));
  return width + " " + speed_that_could_be(subnet, at);
}

}  // namespace ib::tools
