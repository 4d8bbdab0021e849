// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths as text for people and as specs that can be parsed. The forms are python-rdma's str() and repr().
#include <fmt/format.h>

#include <iterator>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/attributes.hpp"
#include "path/path.hpp"

namespace ib::path {

namespace {

/// The route as a tuple: (0,) or (0, 1, 7).
std::string route_tuple(const IbDrPath& path) {
  std::string text = "(0";
  for (unsigned i = 1; i <= path.hops; ++i) fmt::format_to(std::back_inserter(text), ", {}", path.route[i]);
  return text + (path.hops == 0 ? ",)" : ")");
}

/// The route in a spec: 0:1:7:
std::string route_spec(const IbDrPath& path) {
  std::string text = "0:";
  for (unsigned i = 1; i <= path.hops; ++i) fmt::format_to(std::back_inserter(text), "{}:", path.route[i]);
  return text;
}

std::string directed_text(const IbDrPath& path) {
  std::string text = "DR Path ";
  if (path.dr_slid != permissive_lid) text += fmt::format("{} -> ", path.dlid.value);  // LID-routed to the start of the directed route
  text += route_tuple(path);
  if (path.dr_dlid != permissive_lid) text += fmt::format(" -> {}", path.dr_dlid.value);  // and LID-routed from its end
  return text;
}

std::string gid_or_none(const std::optional<Gid>& gid) { return gid ? to_text(*gid) : "None"; }

std::string number_text(AttributeForm form, std::uint64_t value) {
  switch (form) {
    case AttributeForm::hex:
      return fmt::format("0x{:x}", value);
    case AttributeForm::lid:
      return value > last_unicast_lid ? fmt::format("0x{:x}", value) : fmt::format("{}", value);
    case AttributeForm::boolean:
      return value != 0 ? "True" : "False";
    default:
      return fmt::format("{}", value);
  }
}

/// The attribute's value in a spec, or nothing if the value is the default.
std::optional<std::string> value_text(const Attribute& attribute, const Path& path, Keys keys) {
  static const IbPath routed_defaults;
  static const IbDrPath directed_defaults;
  const IbPath& p = path.ib();
  if (attribute.form == AttributeForm::secret && keys == Keys::hidden && attribute.get(p) != attribute.well_known) return std::nullopt;
  if (attribute.form == AttributeForm::route) return route_spec(*path.directed());
  if (attribute.form == AttributeForm::gid) {
    const auto& gid = p.*attribute.gid;
    return gid ? std::optional(fmt::format("GID('{}')", to_text(*gid))) : std::nullopt;
  }
  // A value is left out if it is the default. On a directed route, it must be the default of both kinds of path, so that the
  // LIDs, the QPs and the Q_Key are always written.
  const auto value = attribute.get(p);
  const bool usual = (!attribute.routed || value == attribute.get(routed_defaults)) &&
                     (path.directed() == nullptr || value == attribute.get(directed_defaults));
  if (!value || usual) return std::nullopt;
  return number_text(attribute.form, *value);
}

}  // namespace

std::string to_text(const Path& path) {
  if (const auto* directed = path.directed()) return directed_text(*directed);
  const IbPath& p = path.ib();
  const auto route = p.has_grh ? fmt::format("{} {} -> {} {} TC={} FL={} HL={}", gid_or_none(p.sgid), p.slid.value, gid_or_none(p.dgid),
                                             p.dlid.value, p.traffic_class, p.flow_label, p.hop_limit)
                               : fmt::format("{} -> {}", p.slid.value, p.dlid.value);
  return fmt::format("Path {} SL={} PKey=0x{:x} DQPN={}", route, p.sl, p.pkey.value, p.dqpn ? fmt::format("{}", p.dqpn->value) : "None");
}

std::string to_spec(const Path& path, Keys keys) {
  const bool directed = path.directed() != nullptr;
  const auto* end_port = path.ib().end_port;
  std::string text = directed ? "IBDRPath(end_port=" : "IBPath(end_port=";
  text += end_port != nullptr ? in_quotes(end_port->name()) : "None";
  for (const auto& attribute : attributes()) {
    if (!(directed ? attribute.directed : attribute.routed)) continue;
    if (const auto value = value_text(attribute, path, keys)) fmt::format_to(std::back_inserter(text), ", {}={}", attribute.name, *value);
  }
  return text + ")";
}

}  // namespace ib::path
