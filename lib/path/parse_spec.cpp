// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads path specs. The error messages are those of python-rdma.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "path/attributes.hpp"
#include "path/parse.hpp"
#include "path/route.hpp"

namespace ib::path {

namespace {

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
  for (const auto& attribute : attributes()) {
    if (attribute.name != name || !(directed ? attribute.directed : attribute.routed)) continue;
    switch (attribute.form) {
      case AttributeForm::gid:
        path.*attribute.gid = parse_gid_value(text);
        return;
      case AttributeForm::route:
        set_route(static_cast<IbDrPath&>(path), text, ':');
        return;
      default:
        attribute.set(path, parse_value(attribute, text));
        return;
    }
  }
  throw UsageError(fmt::format("Path attribute {} is not known", in_quotes(name)));
}

template <class T>
Path parse_attributes(std::string_view spec, std::string_view list, const sys::DeviceList* devices, bool& names_sl) {
  T path;
  for (const auto item : split(list)) {
    const auto equals = std::min(item.find('='), item.size());
    const auto name = trim(item.substr(0, equals));
    const auto value = trim(item.substr(std::min(equals + 1, item.size())));
    if (value.empty()) invalid(spec);
    names_sl |= name == "SL";
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
  for (const auto& attribute : attributes()) {
    if (attribute.name == name) return attribute.form != AttributeForm::secret;
  }
  const auto is_key = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  constexpr std::string_view key = "key";
  return std::search(name.begin(), name.end(), key.begin(), key.end(), is_key) == name.end();
}

}  // namespace

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

Path parse_spec(std::string_view text, const sys::DeviceList* devices) {
  bool names_sl = false;
  return parse_spec(text, devices, names_sl);
}

Path parse_spec(std::string_view text, const sys::DeviceList* devices, bool& names_sl) {
  names_sl = false;
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
