// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/parse.hpp"

namespace ib::sys {

std::optional<Guid> parse_guid_groups(std::string_view text) {
  text = trim(text);
  if (text.find(':') == std::string_view::npos) {
    const auto value = text.size() == 16 ? parse_digits(text, 16) : std::nullopt;
    return value ? std::optional(Guid{*value}) : std::nullopt;
  }
  Guid guid;
  for (unsigned group = 0; group < 4; ++group) {
    const auto colon = group < 3 ? text.find(':') : text.size();
    if (colon == std::string_view::npos || colon == 0 || colon > 4) return std::nullopt;
    const auto digits = text.substr(0, colon);
    const auto value =
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos ? parse_digits(digits, 16) : std::nullopt;
    if (!value) return std::nullopt;
    guid.value = guid.value << 16 | *value;
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return guid;
}

std::optional<Guid> parse_guid(std::string_view text) {
  text = trim(text);
  if (!text.starts_with("0x") && !text.starts_with("0X")) return parse_guid_groups(text);
  const auto value = parse_unsigned(text);
  return value ? std::optional(Guid{*value}) : std::nullopt;
}

std::optional<Gid> parse_gid(std::string_view text) {
  text = trim(text);
  std::array<char, INET6_ADDRSTRLEN + 1> buffer{};
  if (text.size() >= buffer.size() || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), buffer.begin());
  Gid gid;
  if (inet_pton(AF_INET6, buffer.data(), gid.bytes.data()) != 1) return std::nullopt;
  return gid;
}

std::string guid_text(Guid guid) {
  const auto v = guid.value;
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", v >> 48, v >> 32 & 0xffff, v >> 16 & 0xffff, v & 0xffff);
}

std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(AF_INET6, gid.bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

}  // namespace ib::sys
