// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Columns, blanks and words are those of the recorded text. Fields of a port that was not read are zero, as infiniband-diags has them.
#include "tools/iblinkinfo/diags_links.hpp"

#include <fmt/format.h>

#include <bit>
#include <iterator>

#include "base/escape.hpp"
#include "iba/libibmad_text.hpp"

namespace ib::tools {
namespace {

using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;

constexpr unsigned state_down = 1;    // IBA 14.2.5.6: PortState
constexpr unsigned qdr = 4;           // IBA 14.2.5.6: LinkSpeedActive
constexpr unsigned widest_code = 16;  // IBA 14.2.5.6: LinkWidthActive
constexpr unsigned fdr10_bit = 1;     // of MlnxExtPortInfo's speeds
// IBA 14.2.5.6: CapabilityMask and CapabilityMask2
constexpr std::uint32_t has_extended_speeds = 1U << 14, has_capability_mask2 = 1U << 15;
constexpr std::uint16_t has_extended_speeds2 = 1U << 11;

template <typename... T>
void print(std::string& out, fmt::format_string<T...> format, T&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
}

std::string text_of(LibibmadText kind, std::uint64_t value) { return libibmad_text(kind, value, 8); }

/// A speed of LinkSpeedExt, and from bit 5 on of LinkSpeedExt2.
std::string extended_speed_text(unsigned speed) {
  constexpr unsigned xdr = 32;
  return speed == xdr ? text_of(LibibmadText::linkspeedext2, 1) : text_of(LibibmadText::linkspeedext, speed);
}

/// `text` in a column of `width` bytes, at its right end.
std::string right(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

/// The widest of a mask of LinkWidth codes; 1X where it has none.
unsigned widest(unsigned mask) {
  for (const unsigned code : {8U, 4U, 2U, 16U}) {
    if (mask & code) return code;
  }
  return 1;
}

/// The highest bit of a mask; 1 where it has none.
unsigned highest(unsigned mask) { return mask == 0 ? 1 : std::bit_floor(mask); }

}  // namespace

std::string DiagsLinks::name(NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const auto mapped = names_.find(node.guid());
  return mapped ? printable_words(*mapped) : printable(node.description().substr(0, 63));
}

bool DiagsLinks::exists(PortIndex at) const {
  const Port& port = subnet_.port(at);
  return port.has_info || port.guid.value != 0 || port.peer != none;
}

Guid DiagsLinks::guid(PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Node& node = subnet_.node(port.node);
  return node.kind() == NodeKind::sw && port.guid.value == 0 ? node.info.port_guid : port.guid;
}

std::string DiagsLinks::external(PortIndex at) const {
  const unsigned number = grouping_.external_port[at];
  return number == 0 ? std::string() : std::to_string(number);
}

/// The port whose capability mask counts for `at`: port 0 of a switch. Null where that is not known.
const Port* DiagsLinks::capabilities(PortIndex at) const {
  const Port& own = subnet_.port(at);
  const Port& end = subnet_.port(subnet_.end_port_of(at));
  return subnet_.node(own.node).kind() == NodeKind::sw && !end.has_info ? nullptr : &end;
}

unsigned DiagsLinks::extended_speed(PortIndex at) const {
  const Port* end = capabilities(at);
  if (end == nullptr) return 0;
  const smp::PortInfo caps = end->info(), info = subnet_.port(at).info();
  if (!(caps.capability_mask & has_extended_speeds)) return 0;
  const bool second = (caps.capability_mask & has_capability_mask2) && (caps.capability_mask2 & has_extended_speeds2);
  if (second && info.link_speed_ext_active2 != 0) return info.link_speed_ext_active2 << 5U;
  return info.link_speed_ext_active;
}

unsigned DiagsLinks::extended_speeds_supported(PortIndex at) const {
  const Port* end = capabilities(at);
  if (end == nullptr) return 0;
  const smp::PortInfo caps = end->info(), info = subnet_.port(at).info();
  if (!(caps.capability_mask & has_extended_speeds)) return 0;
  const bool second = (caps.capability_mask & has_capability_mask2) && (caps.capability_mask2 & has_extended_speeds2);
  return info.link_speed_ext_supported | (second ? info.link_speed_ext_supported2 << 5U : 0U);
}

/// "( 4X 25.78125 Gbps Active/ LinkUp)", in columns.
std::string DiagsLinks::link(PortIndex at) const {
  const Port& port = subnet_.port(at);
  const smp::PortInfo info = port.info();
  const std::string state = text_of(LibibmadText::portstate, port.state());
  const std::string physical = text_of(LibibmadText::physportstate, port.physical_state());
  // IBA C14-24.2.1: of a port that is down nothing else need be true.
  if (port.state() == state_down) return fmt::format("({:14}{:>6}/{:>8})", "", state, physical);
  const bool known = capabilities(at) != nullptr;
  const unsigned width = known ? info.link_width_active : 0U, basic = known ? info.link_speed_active : 0U;
  const unsigned extended = extended_speed(at);
  std::string speed;
  if (extended != 0) {
    speed = extended_speed_text(extended);
  } else if (port.fdr10 & fdr10_bit) {
    speed = "10.0 Gbps (FDR10)";
  } else {
    speed = text_of(LibibmadText::linkspeed, basic);
  }
  if (!std::has_single_bit(width) || width > widest_code) bad_widths_.push_back(width);
  std::string text = fmt::format("({:>3} {:>18} {:>6}/{:>8})", text_of(LibibmadText::linkwidth, width), speed, state, physical);
  if (additional) print(text, " (HOQ:{} VL_Stall:{})", info.hoq_life, info.vl_stall_count);
  return text;
}

std::string DiagsLinks::could_be_wider(PortIndex at) const {
  const smp::PortInfo info = subnet_.port(at).info(), other = subnet_.port(subnet_.port(at).peer).info();
  const unsigned width = widest(info.link_width_supported & other.link_width_supported);
  return width & info.link_width_active ? std::string() : "Could be " + text_of(LibibmadText::linkwidth, width);
}

std::string DiagsLinks::could_be_faster(PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Port& peer = subnet_.port(port.peer);
  const unsigned extended = extended_speeds_supported(at), other_extended = extended_speeds_supported(port.peer);
  if (extended != 0 && other_extended != 0) {
    const unsigned best = highest(extended & other_extended);
    return best & extended_speed(at) ? std::string() : "Could be " + extended_speed_text(best);
  }
  const smp::PortInfo info = port.info(), other = peer.info();
  if (port.fdr10_supported & peer.fdr10_supported & fdr10_bit) {
    if (port.fdr10 & fdr10_bit) return {};
    // QDR and FDR10 look alike in PortInfo.
    return info.link_speed_active == qdr ? "Could be FDR10 (Found link at QDR but expected speed is FDR10)" : "Could be FDR10";
  }
  const unsigned best = highest(info.link_speed_supported & other.link_speed_supported);
  return best & info.link_speed_active ? std::string() : "Could be " + text_of(LibibmadText::linkspeed, best);
}

std::string DiagsLinks::far_end(PortIndex at) const {
  constexpr std::size_t buffer = 255;
  const Port& port = subnet_.port(at);
  if (port.peer == none) return port.state() == state_down ? "           [  ] \"\" ( )\n" : "    \"Port not available\"\n";
  const Port& peer = subnet_.port(port.peer);
  std::string text;
  if (line) print(text, "0x{:016x} ", guid(port.peer).value);
  print(text, "{:6} {:4}[{:>2}] \"{}\" ({} {})\n", subnet_.lid(port.peer).value, peer.number, external(port.peer), name(peer.node),
        could_be_wider(at), could_be_faster(at));
  if (text.size() <= buffer) return text;
  ++cut_;
  return text.substr(0, buffer);
}

void DiagsLinks::heading(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  if (node.kind() == NodeKind::sw) {
    print(out, "{}Switch: 0x{:016x} {}:\n", prefix, node.info.port_guid.value, name(at));
    return;
  }
  const std::string_view kind = node.kind() == NodeKind::ca ? "CA" : node.kind() == NodeKind::router ? "Router" : "??";
  print(out, "{}{}: {}:\n", prefix, kind, name(at));
}

void DiagsLinks::port(std::string& out, PortIndex at, std::string_view prefix) const {
  const Port& port = subnet_.port(at);
  if (port.state() == state_down && hides && hides(at)) return;
  const std::string link_text = link(at), far = far_end(at);
  out += prefix;
  if (line) {
    print(out, "0x{:016x} \"{}\" ", guid(at).value, right(name(port.node), 30));
  } else {
    out += "      ";
    if (subnet_.node(port.node).kind() != NodeKind::sw) print(out, "0x{:016x} ", guid(at).value);
  }
  print(out, "{:6} {:4}[{:>2}] =={}==>  {}", subnet_.lid(at).value, port.number, external(at), link_text, far);
}

void DiagsLinks::node(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  bool first = true;
  for (unsigned number = 1; number < node.slots && number <= node.info.num_ports; ++number) {
    const PortIndex index = node.first_port + number;
    if (!exists(index) || (down && subnet_.port(index).state() != state_down)) continue;
    if (first && !line) heading(out, at, prefix);
    first = false;
    port(out, index, prefix);
  }
}

}  // namespace ib::tools
