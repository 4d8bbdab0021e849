// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibportstate/ibportstate.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::ibportstate {
namespace {

using subnet::SettingChange;

// The fields of PortInfo that infiniband-diags shows.
constexpr std::string_view state_fields[]{"port_state", "port_physical_state", "lid", "master_sm_lid", "lmc"};
constexpr std::string_view width_fields[]{"link_width_supported", "link_width_enabled", "link_width_active"};
constexpr std::string_view speed_fields[]{"link_speed_supported", "link_speed_enabled", "link_speed_active"};
constexpr std::string_view extended_fields[]{"link_speed_ext_supported", "link_speed_ext_enabled", "link_speed_ext_active"};
constexpr std::string_view xdr_fields[]{"link_speed_ext_active2", "link_speed_ext_supported2", "link_speed_ext_enabled2"};
constexpr std::string_view m_key_fields[]{"m_key", "m_key_lease_period", "m_key_protect_bits"};

AttributeText shown(const CommonOptions& options, const ObservedPort& at) { return {options, smp::PortInfo::info(), at.bytes}; }

bool hides(const SettingChange& change, Keys keys) { return change.field->secret && keys == Keys::hidden; }

/// "5 -> 3", or `hidden` for a key.
std::string values_of(const SettingChange& change, Keys keys, std::string_view hidden) {
  if (hides(change, keys)) return std::string(hidden);
  return fmt::format("{} -> {}", worded(*change.field, change.from), worded(*change.field, change.to));
}

/// The first of `order` that both ports may use, where the link does not run at it.
template <std::size_t n>
void warn_below(const Host& host, const char* function, const char* what, unsigned both, unsigned active,
                const std::pair<unsigned, const char*> (&order)[n]) {
  for (const auto& [bit, name] : order) {
    if ((both & bit) == 0) continue;
    if (active != bit)
      warn(host.world(), function, fmt::format("Peer ports operating at active {} {} rather than {} ({})", what, active, bit, name));
    return;
  }
}

constexpr std::pair<unsigned, const char*> widths[]{{8, "12x"}, {4, "8x"}, {2, "4x"}, {16, "2x"}, {1, "1x"}};
constexpr std::pair<unsigned, const char*> speeds[]{{4, "10.0 Gbps"}, {2, "5.0 Gbps"}, {1, "2.5 Gbps"}};
constexpr std::pair<unsigned, const char*> ext_speeds[]{{8, "106.25 Gbps"}, {4, "53.125 Gbps"}, {2, "25.78125 Gbps"}, {1, "14.0625 Gbps"}};

/// The enabled values of a port: `enabled`, where the value `all` means all supported values.
unsigned usable(unsigned enabled, unsigned supported, unsigned all) { return enabled == all ? supported : enabled; }

/// Prints the PortInfo and the MlnxExtPortInfo of a port as infiniband-diags does.
void show_port(TextOut& out, const ObservedPort& at, Keys keys) {
  const smp::PortInfo info = at.info();
  const auto list = [&](std::span<const std::string_view> fields) {
    out.write(libibmad_listing(at.bytes, smp::PortInfo::info(), fields, keys));
  };
  out.print("# Port info: {} port {}\n", at.node.name, static_cast<int>(at.number));
  list(state_fields);
  list(width_fields);
  list(speed_fields);
  if (at.extended_speeds) list(extended_fields);
  // Newer than infiniband-diags' ibportstate.
  const bool xdr = info.link_speed_ext_active2 != 0 || info.link_speed_ext_supported2 != 0 || info.link_speed_ext_enabled2 != 0;
  if (xdr) list(xdr_fields);
  if (!at.is_switch() || at.number == 0) list(m_key_fields);
}

void show_mlnx(TextOut& out, const ObservedPort& at) {
  if (at.mlnx_bytes.empty()) return;
  out.print("# MLNX ext Port info: {} port {}\n{}", at.node.name, static_cast<int>(at.number),
            libibmad_listing(at.mlnx_bytes, smp::MlnxExtPortInfo::info()));
}

/// "\"leaf1\" 0005:… port 7".
std::string place_of(const ObservedPort& port) {
  const std::string guid = port.node_info ? to_text(port.node_info->node_guid) : port.node.name;
  return fmt::format("{}{} port {}", port.description.empty() ? "" : in_quotes(port.description) + ' ', guid, port.number);
}

void visit_node(report::Sink& sink, const ObservedPort& at) {
  sink.value_or_null("node_guid", at.node_info.has_value(), at.node_info.value_or(smp::NodeInfo{}).node_guid);
  at.node_info ? sink.symbol("node_type", at.node_info->node_type, smp::to_text(at.node_info->node_type)) : sink.no_symbol("node_type");
  sink.text_or_null("node_description", at.description);
  sink.null("node_name");
}

}  // namespace

void PortStateReport::visit(report::Sink& sink) const {
  sink.value("operation", "query");
  path::visit(sink, "path", port.node.path);
  sink.value("port_num", port.number);
  shown(options, port).visit_attribute(sink);
  if (peer) {
    sink.begin_object("peer");
    visit_node(sink, *peer);
    sink.value("port_num", peer->number);
    sink.lid_or_null("lid", peer->lid());
    path::visit(sink, "path", peer->node.path);
    shown(options, *peer).visit_attribute(sink);
    sink.end_object();
  } else {
    sink.null("peer");
  }
  sink.begin_array("unreachable");
  if (lacks_peer) {
    sink.begin_object();
    sink.value("reason", "no_answer");
    for (const char* unknown : {"node_guid", "node_description", "node_name"}) sink.null(unknown);
    sink.value("port_num", port.number);
    sink.value("beyond", true);
    sink.value("attribute", smp::PortInfo::info().iba_name);
    sink.value("modifier", 0U);
    sink.value("error", why_no_peer);
    sink.end_object();
  }
  sink.end_array();
}

Lid ObservedPort::lid() const {
  const Lid own = info().lid;
  if (own.is_unicast()) return own;
  const Lid target = node.path.directed() == nullptr ? node.path.ib().dlid : Lid{};
  return target.is_unicast() ? target : Lid{};
}

std::string ObservedPort::name() const {
  std::string text = description.empty() ? node.name : in_quotes(description);
  if (lid() != Lid{}) text += fmt::format(" (LID {})", lid().value);
  return text + fmt::format(" port {}", number == 0 && !is_switch() ? unsigned{info().local_port_num} : number);
}

void PortStateReport::text(TextOut& out) const {
  out.print("# Port info: {}", port.name());
  if (peer) out.print(" (peer is {})", peer->name());
  if (lacks_peer) out.write(" (the peer was not read)");
  out.write("\n");
  shown(options, port).text(out, {.names = NameStyle::saquery, .column = 37, .words = true});
}

void PortStateReport::diags_text(TextOut& out) const {
  out.print("{} PortInfo:\n", port.is_switch() ? "Switch" : "CA/RT");
  if (port.bytes.empty()) return;
  show_port(out, port, options.keys);
  show_mlnx(out, port);
  if (!peer || !peer->node_info) return;
  out.write("Peer PortInfo:\n");
  if (lacks_peer) return;
  show_port(out, *peer, options.keys);
  show_mlnx(out, *peer);
}

void PortSetReport::visit(report::Sink& sink) const {
  sink.value("operation", "set");
  path::visit(sink, "path", port.node.path);
  sink.value("port_num", port.number);
  sink.value("dry_run", dry_run);
  sink.objects("changes", changes, [&](const SettingChange& change) {
    sink.value("attribute", change.attribute->iba_name);
    sink.value("field", change.field->name);
    for (const auto& [key, value] : {std::pair{"from", change.from}, {"to", change.to}}) {
      if (hides(change, options.keys)) {
        sink.no_symbol(key);
      } else {
        sink.symbol(key, value, change.field->enumeration != nullptr ? symbol(*change.field->enumeration, value) : "");
      }
    }
  });
  if (after) {
    shown(options, *after).visit_attribute(sink);
  } else {
    sink.value("attribute", smp::PortInfo::info().iba_name);
    sink.null("data");
  }
}

void PortSetReport::text(TextOut& out) const {
  if (needless) return out.write("The port is not disabled: there is nothing to do\n");
  if (!dry_run) return;
  out.print("# Would set on {}\n", place_of(port));
  for (const SettingChange& change : changes) {
    out.print("{:.<25}{}\n", styled_name(*change.field, NameStyle::saquery), values_of(change, options.keys, "(not displayed)"));
  }
}

std::string PortSetReport::what_changed() const {
  std::string text = place_of(port) + ':';
  for (const SettingChange& change : changes) {
    text += fmt::format("{} {} {}", &change == &changes.front() ? "" : ",", styled_name(*change.field, NameStyle::saquery),
                        values_of(change, options.keys, "set"));
  }
  return text;
}

void PortSetReport::diags_text(TextOut& out) const {
  out.print("Initial {} PortInfo:\n", port.is_switch() ? "Switch" : "CA/RT");
  if (port.bytes.empty()) return;
  show_port(out, port, options.keys);
  show_mlnx(out, port);
  if (needless) return out.write("Port is already in enable state\n");
  if (disables) out.write("Disable may be irreversible\n");
  if (mlnx_after) {
    out.write("\nAfter MLNXExtendedPortInfo set:\n");
    show_mlnx(out, *mlnx_after);
  }
  if (after) {
    out.write("\nAfter PortInfo set:\n");
    show_port(out, *after, options.keys);
  }
}

void warn_of_slow_link(const Host& host, const ObservedPort& port, const ObservedPort& peer) {
  const smp::PortInfo a = port.info(), b = peer.info();
  warn_below(host, "validate_width", "width",
             usable(a.link_width_enabled, a.link_width_supported, 255) & usable(b.link_width_enabled, b.link_width_supported, 255),
             a.link_width_active, widths);
  warn_below(host, "validate_speed", "speed",
             usable(a.link_speed_enabled, a.link_speed_supported, 15) & usable(b.link_speed_enabled, b.link_speed_supported, 15),
             a.link_speed_active, speeds);
  if (port.extended_speeds && peer.extended_speeds) {
    warn_below(
        host, "validate_extended_speed", "extended speed",
        usable(a.link_speed_ext_enabled, a.link_speed_ext_supported, 31) & usable(b.link_speed_ext_enabled, b.link_speed_ext_supported, 31),
        a.link_speed_ext_active, ext_speeds);
  } else if ((port.mlnx().link_speed_enabled & peer.mlnx().link_speed_enabled & 1U) != 0 && (port.mlnx().link_speed_active & 1U) == 0) {
    warn(host.world(), "main", fmt::format("Peer ports operating at active speed {} rather than FDR10", a.link_speed_active));
  }
}

}  // namespace ib::tools::ibportstate
