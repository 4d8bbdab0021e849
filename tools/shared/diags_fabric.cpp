// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/diags_fabric.hpp"

#include <fmt/format.h>

#include "iba/libibmad_text.hpp"
#include "subnet/model/rate.hpp"

namespace ib::tools {
namespace {

using subnet::LinkRate;
using subnet::Speed;

/// "14.0625 Gbps"
std::string speed_text(Speed speed) {
  const std::string gbps = fmt::format("{}", subnet::lane_mbps(speed) / 1000);
  return gbps + (gbps.find('.') == std::string::npos ? ".0 Gbps" : " Gbps");
}

std::string speed_that_could_be(const LinkRate& now, const LinkRate& best) {
  if (now.speed >= best.speed) return "";
  if (best.speed != Speed::fdr10) return "Could be " + speed_text(best.speed);
  // PortInfo has the same value for QDR and FDR10.
  return now.speed == Speed::qdr ? "Could be FDR10 (Found link at QDR but expected speed is FDR10)" : "Could be FDR10";
}

}  // namespace

std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex at, bool known) {
  const subnet::Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  const std::string state = fmt::format("{:>6}/{:>8})", libibmad_text(LibibmadText::portstate, static_cast<unsigned>(port.state()), 4),
                                        libibmad_text(LibibmadText::physportstate, static_cast<unsigned>(port.physical_state()), 4));
  if (port.state() == smp::PortState::down) return "(              " + state;
  const Speed now = known ? subnet::active_rate(subnet, at).speed : Speed::unknown;
  const std::string speed = now == Speed::fdr10  ? "10.0 Gbps (FDR10)"
                            : now > Speed::fdr10 ? speed_text(now)
                                                 : libibmad_text(LibibmadText::linkspeed, known ? info.link_speed_active : 0U, 4);
  return fmt::format("({:>3} {:>18} {}", libibmad_text(LibibmadText::linkwidth, known ? info.link_width_active : 0U, 8), speed, state);
}

std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex at) {
  const LinkRate now = subnet::active_rate(subnet, at), best = subnet::best_rate(subnet, at);
  return (now.lanes < best.lanes ? fmt::format("Could be {}X ", best.lanes) : " ") + speed_that_could_be(now, best);
}

}  // namespace ib::tools
