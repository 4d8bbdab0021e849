// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths as text for people and as specs that can be parsed: python-rdma's str() and repr(), and its error messages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <type_traits>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"

namespace ib::path {

namespace {

/// How the value of an attribute is written in a path spec.
enum class AttributeForm : std::uint8_t {
  decimal,
  hex,
  lid,      ///< decimal, but hexadecimal for multicast LIDs and above
  boolean,  ///< True or False
  secret,   ///< decimal, but written only if keys are shown, because paths appear in logs and error messages
  gid,
  route,  ///< 0:1:2:
};

struct Attribute {
  std::string_view name;
  AttributeForm form;
  std::uint64_t limit;  ///< the greatest allowed number; 0 for GIDs and routes
  bool routed;          ///< an IBPath has the attribute
  bool directed;        ///< an IBDRPath has the attribute
  /// Gets the number, or nothing if it is absent. Null for GIDs and routes. `path` must be of a kind that has the attribute.
  std::optional<std::uint64_t> (*get)(const IbPath& path);
  void (*set)(IbPath& path, std::uint64_t value);
  std::optional<Gid> IbPath::*gid;  ///< for GIDs, otherwise null
  std::uint64_t well_known = 0;     ///< of a secret: the public value, which is always written
};

// Converts a member of any type that paths consist of to a number and back.
template <class T>
std::optional<std::uint64_t> number(const T& member) {
  if constexpr (requires { member.value; }) {
    return member.value;
  } else {
    return static_cast<std::uint64_t>(member);
  }
}
template <class T>
std::optional<std::uint64_t> number(const std::optional<T>& member) {
  return member ? number(*member) : std::nullopt;
}
std::optional<std::uint64_t> number(const std::optional<Duration>& member) {
  if (!member) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(*member).count());
}

template <class T>
void assign(T& member, std::uint64_t value) {
  if constexpr (requires { member.value; }) {
    member.value = static_cast<decltype(member.value)>(value);
  } else {
    member = static_cast<T>(value);
  }
}
template <class T>
void assign(std::optional<T>& member, std::uint64_t value) {
  assign(member.emplace(), value);
}
void assign(std::optional<Duration>& member, std::uint64_t value) { member = std::chrono::microseconds(value); }

/// `APath` is IbPath, const or not.
template <class APath, class Member>
auto& member_of(APath& path, Member IbPath::*member) {
  return path.*member;
}
template <class APath, class Member>
auto& member_of(APath& path, Member IbDrPath::*member) {
  return static_cast<std::conditional_t<std::is_const_v<APath>, const IbDrPath, IbDrPath>&>(path).*member;
}

/// An attribute of both kinds of path, or only of one.
template <auto member>
constexpr Attribute made(std::string_view name, AttributeForm form, std::uint64_t limit, bool routed = true, bool directed = true,
                         std::uint64_t well_known = 0) {
  return {name,
          form,
          limit,
          routed,
          directed,
          [](const IbPath& path) { return number(member_of(path, member)); },
          [](IbPath& path, std::uint64_t value) { assign(member_of(path, member), value); },
          nullptr,
          well_known};
}

constexpr Attribute gid(std::string_view name, std::optional<Gid> IbPath::*member) {
  return {name, AttributeForm::gid, 0, true, false, nullptr, nullptr, member};
}

constexpr std::uint64_t bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

constexpr std::uint64_t one_day = 86'400'000'000;  // µs

/// All attributes but end_port in the order of path specs: upper case before lower case. The table serves for writing and for reading.
constexpr Attribute attributes[] = {
    made<&IbPath::cc_key>("CCKey", AttributeForm::secret, UINT64_MAX),
    gid("DGID", &IbPath::dgid),
    made<&IbPath::dlid>("DLID", AttributeForm::lid, bits(16)),
    made<&IbPath::m_key>("MKey", AttributeForm::secret, UINT64_MAX),
    made<&IbPath::mtu>("MTU", AttributeForm::decimal, bits(6)),
    gid("SGID", &IbPath::sgid),
    made<&IbPath::sl>("SL", AttributeForm::decimal, bits(4)),
    made<&IbPath::slid>("SLID", AttributeForm::lid, bits(16)),
    made<&IbPath::sm_key>("SMKey", AttributeForm::secret, UINT64_MAX, true, true,
                          1),  // 1: the default of subnet managers and of our options
    made<&IbPath::dack_resp_time>("dack_resp_time", AttributeForm::decimal, bits(5)),
    made<&IbPath::dqpn>("dqpn", AttributeForm::decimal, bits(24)),
    made<&IbPath::dqpsn>("dqpsn", AttributeForm::decimal, bits(24)),
    made<&IbDrPath::dr_dlid>("drDLID", AttributeForm::decimal, bits(16), false),
    {"drPath", AttributeForm::route, 0, false, true, nullptr, nullptr, nullptr},
    made<&IbDrPath::dr_slid>("drSLID", AttributeForm::decimal, bits(16), false),
    made<&IbPath::drdatomic>("drdatomic", AttributeForm::decimal, bits(8)),
    made<&IbPath::flow_label>("flow_label", AttributeForm::decimal, bits(20)),
    made<&IbPath::has_grh>("has_grh", AttributeForm::boolean, 1, true, false),
    made<&IbPath::hop_limit>("hop_limit", AttributeForm::decimal, bits(8)),
    made<&IbPath::min_rnr_timer>("min_rnr_timer", AttributeForm::decimal, bits(5)),
    made<&IbPath::packet_life_time>("packet_life_time", AttributeForm::decimal, bits(6)),
    made<&IbPath::pkey>("pkey", AttributeForm::hex, bits(16)),
    made<&IbPath::qkey>("qkey", AttributeForm::hex, bits(32)),
    made<&IbPath::rate>("rate", AttributeForm::decimal, bits(6)),
    made<&IbPath::resp_time>("resp_time", AttributeForm::decimal, bits(5)),
    made<&IbPath::retries>("retries", AttributeForm::decimal, 1000),
    made<&IbPath::sack_resp_time>("sack_resp_time", AttributeForm::decimal, bits(5)),
    made<&IbPath::sqpn>("sqpn", AttributeForm::decimal, bits(24)),
    made<&IbPath::sqpsn>("sqpsn", AttributeForm::decimal, bits(24)),
    made<&IbPath::srdatomic>("srdatomic", AttributeForm::decimal, bits(8)),
    made<&IbPath::timeout>("timeout_us", AttributeForm::decimal, one_day),
    made<&IbPath::traffic_class>("traffic_class", AttributeForm::decimal, bits(8)),
    made<&IbPath::umad_agent_id>("umad_agent_id", AttributeForm::decimal, bits(32)),
};

/// The route as a tuple: (0,) or (0, 1, 7).
std::string route_tuple(const IbDrPath& path) { return path.hops == 0 ? "(0,)" : fmt::format("(0, {})", fmt::join(path.ports(), ", ")); }

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
  if (attribute.form == AttributeForm::route)
    return fmt::format("0:{}{}", fmt::join(path.directed()->ports(), ":"), path.directed()->hops == 0 ? "" : ":");
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

constexpr std::size_t longest_spec = 4096;

[[noreturn]] void invalid(std::string_view spec, std::string_view why = "") {
  throw UsageError(fmt::format("Invalid path specification {}{}", in_quotes(without_secrets(spec)), why));
}

std::string_view unquoted(std::string_view text) {
  const bool quotes = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quotes ? text.substr(1, text.size() - 2) : text;
}

Gid parse_gid_value(std::string_view text) {
  std::string_view inner = text;
  if (inner.starts_with("GID(") && inner.ends_with(')')) inner = trim(inner.substr(4, inner.size() - 5));
  const auto gid = parse_gid(trim(unquoted(inner)));
  if (!gid) throw UsageError(fmt::format("{} is not a valid GID", in_quotes(unquoted(inner))));
  return *gid;
}

std::uint64_t parse_value(const Attribute& attribute, std::string_view text) {
  if (attribute.form == AttributeForm::boolean && (text == "True" || text == "False")) return text == "True" ? 1 : 0;
  const auto value = parse_number(text);
  if (!value && attribute.form == AttributeForm::secret)
    throw UsageError(fmt::format("{} is not a valid integer", in_quotes(attribute.name)));
  if (!value) throw UsageError(fmt::format("{}={} is not a valid integer", in_quotes(attribute.name), in_quotes(text)));
  if (*value > attribute.limit) {
    throw UsageError(fmt::format("{}={} is out of range (0 to {})", in_quotes(attribute.name), in_quotes(text), attribute.limit));
  }
  return *value;
}

const sys::EndPort* parse_end_port(std::string_view text, const sys::DeviceList* devices) {
  text = unquoted(text);
  if (text == "None") return nullptr;
  try {
    if (devices == nullptr) throw UsageError("No InfiniBand device here");
    return &devices->find_end_port(text);
  } catch (const Error& error) {
    throw UsageError(fmt::format("Could not find {}: {}", in_quotes(text), error.message()));
  }
}

/// Sets the attribute `name` of `path`, which is an IbDrPath if `directed`.
void set_attribute(IbPath& path, bool directed, std::string_view name, std::string_view text) {
  for (const auto& attribute : attributes) {
    if (attribute.name != name || !(directed ? attribute.directed : attribute.routed)) continue;
    switch (attribute.form) {
      case AttributeForm::gid:
        path.*attribute.gid = parse_gid_value(text);
        return;
      case AttributeForm::route:
        if (!try_set_route(static_cast<IbDrPath&>(path), text, ':')) throw UsageError(no_route_text(text));
        return;
      default:
        attribute.set(path, parse_value(attribute, text));
        return;
    }
  }
  throw UsageError(fmt::format("Path attribute {} is not known", in_quotes(name)));
}

template <class T>
Path parse_attributes(std::string_view spec, std::string_view list, const sys::DeviceList* devices, bool* names_sl) {
  T path;
  for (const auto item : split(list)) {
    const auto equals = std::min(item.find('='), item.size());
    const auto name = trim(item.substr(0, equals));
    const auto value = trim(item.substr(std::min(equals + 1, item.size())));
    if (value.empty()) invalid(spec);
    if (names_sl != nullptr && name == "SL") *names_sl = true;
    if (name == "end_port") {
      path.end_port = parse_end_port(value, devices);
    } else {
      set_attribute(path, std::is_same_v<T, IbDrPath>, name, value);
    }
  }
  return path;
}

/// Whether the value of `name` in a spec may be repeated: `name` is neither a key nor a misspelt key.
bool is_open(std::string_view name) {
  for (const auto& attribute : attributes) {
    if (attribute.name == name) return attribute.form != AttributeForm::secret;
  }
  const auto is_key = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  constexpr std::string_view key = "key";
  return std::search(name.begin(), name.end(), key.begin(), key.end(), is_key) == name.end();
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
  for (const auto& attribute : attributes) {
    if (!(directed ? attribute.directed : attribute.routed)) continue;
    if (const auto value = value_text(attribute, path, keys)) fmt::format_to(std::back_inserter(text), ", {}={}", attribute.name, *value);
  }
  return text + ")";
}

std::string without_secrets(std::string_view text) {
  // Not split(): the text may be wrong in any way, and is shown with its commas and parentheses.
  std::string shown;
  bool in_spec = false;
  for (;;) {
    const std::string_view item = text.substr(0, text.find_first_of(",()"));
    const std::size_t value = item.find('=') + 1;  // 0: the item has no value
    if (is_open(trim(item.substr(0, value - 1))) || (value == 0 && !in_spec)) {
      shown += item;
    } else {
      shown.append(item.substr(0, value)).append(hidden_text);
    }
    text.remove_prefix(item.size());
    if (text.empty()) return shown;
    in_spec |= text.front() == '(';
    shown += text.front();
    text.remove_prefix(1);
  }
}

Path parse_spec(std::string_view text, const sys::DeviceList* devices, bool* names_sl) {
  const auto spec = trim(text);
  const auto open = spec.find('(');
  if (spec.size() > longest_spec || open == std::string_view::npos || open == 0 || !spec.ends_with(')')) invalid(text);
  const auto type = spec.substr(0, open);
  const auto list = trim(spec.substr(open + 1, spec.size() - open - 2));
  if (type != "IBPath" && type != "IBDRPath") invalid(text, ", bad path type");
  if (list.empty() || list.ends_with(',')) invalid(text);
  if (type == "IBPath") return parse_attributes<IbPath>(text, list, devices, names_sl);
  return parse_attributes<IbDrPath>(text, list, devices, names_sl);
}

}  // namespace ib::path
