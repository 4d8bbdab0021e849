// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Hex numbers, which are printed per port, use hand-written loops for speed. IPv6 addresses use inet_pton and inet_ntop.
#include "iba/text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/parse.hpp"

namespace ib {
namespace {

constexpr std::size_t longest_gid = 45;  // INET6_ADDRSTRLEN without the NUL

/// The number that the whole of `text` is, without blanks, sign or prefix.
std::optional<std::uint64_t> digits(std::string_view text, unsigned base) {
  return trim(text) == text ? parse_digits(text, base) : std::nullopt;
}

bool has_hex_prefix(std::string_view text) { return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'); }

/// The number that four groups of 1 to 4 hex digits form.
std::optional<std::uint64_t> groups(std::string_view text) {
  std::uint64_t value = 0;
  for (int group = 0; group < 4; ++group) {
    const std::size_t end = group < 3 ? text.find(':') : text.size();
    if (end > 4) return {};  // also if there is no colon
    const auto part = digits(text.substr(0, end), 16);
    if (!part) return {};
    value = value << 16 | *part;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return value;
}

void put_hex(std::string& out, std::uint64_t value, unsigned count) {
  for (unsigned i = count; i-- > 0;) out += "0123456789abcdef"[value >> (4 * i) & 0xf];
}

}  // namespace

std::string to_text(Guid guid) {
  std::string out;
  for (int shift = 48; shift >= 0; shift -= 16) {
    put_hex(out, guid.value >> shift & 0xffff, 4);
    if (shift > 0) out += ':';
  }
  return out;
}

std::string to_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(AF_INET6, gid.bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

std::string to_text(GidPrefix prefix) { return to_text(Gid::from(prefix, Guid{})) + "/64"; }

std::string to_text(Lid lid) { return std::to_string(lid.value); }

std::string to_hex(std::uint64_t value, unsigned digit_count) {
  while (digit_count < 16 && value >> (4 * digit_count) != 0) ++digit_count;
  std::string out = "0x";
  put_hex(out, value, std::clamp(digit_count, 1U, 16U));
  return out;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (has_hex_prefix(text)) return digits(text.substr(2), 16);
  if (text.size() > 1 && text[0] == '0') return digits(text.substr(1), 8);
  return digits(text, 10);
}

std::optional<Guid> parse_guid(std::string_view text) {
  const bool plain = text.size() == 16 && text.find(':') == std::string_view::npos;
  const auto value = has_hex_prefix(text) ? digits(text.substr(2), 16) : plain ? digits(text, 16) : groups(text);
  if (!value) return {};
  return Guid{*value};
}

std::optional<Gid> parse_gid(std::string_view text) {
  if (text.empty() || text.size() > longest_gid || text.find('\0') != std::string_view::npos) return {};
  Gid gid;
  if (inet_pton(AF_INET6, std::string(text).c_str(), gid.bytes.data()) != 1) return {};
  return gid;
}

std::optional<GidPrefix> parse_gid_prefix(std::string_view text) {
  if (const auto guid = parse_guid(text)) return GidPrefix{guid->value};
  if (text.ends_with("/64")) text.remove_suffix(3);
  const auto gid = parse_gid(text);
  if (!gid || gid->guid() != Guid{}) return {};
  return gid->prefix();
}

std::optional<Lid> parse_lid(std::string_view text) {
  const auto value = has_hex_prefix(text) ? digits(text.substr(2), 16) : digits(text, 10);
  if (!value || *value > std::numeric_limits<std::uint16_t>::max()) return {};
  return Lid{static_cast<std::uint16_t>(*value)};
}

}  // namespace ib
