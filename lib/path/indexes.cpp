// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/indexes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "iba/text.hpp"

namespace ib::path {

namespace {

constexpr std::uint16_t membership_bit = 0x8000;
constexpr std::uint16_t last_sgid_index = 0xff;  // umad and verbs have 8 bits for it

const sys::EndPort& end_port(const IbPath& path) {
  if (path.end_port == nullptr) throw Error("The path has no end port");
  return *path.end_port;
}

/// The end port whose P_Key and GID tables apply to the path. Only GMPs matter: an SMP can choose neither.
const sys::EndPort& gsi_port(const IbPath& path) { return end_port(path).carrier(false); }

template <class T>
std::optional<std::uint16_t> index_of(const sys::PortTable<T>& table, const T& value) {
  const auto it = std::find(table.begin(), table.end(), value);
  if (it == table.end()) return std::nullopt;
  return static_cast<std::uint16_t>(it - table.begin());
}

/// The low bits of a LID of `port` that LMC leaves free.
std::uint16_t lmc_mask(const sys::EndPort& port) { return static_cast<std::uint16_t>((1U << std::min(port.lmc, 7U)) - 1); }

}  // namespace

std::uint8_t sgid_index(const IbPath& path) {
  const auto& port = gsi_port(path);
  if (!path.sgid) return 0;
  const auto index = index_of(port.gids, *path.sgid);
  if (!index) throw Error(fmt::format("GID {} not available on {}", to_text(*path.sgid), port.name()));
  if (*index > last_sgid_index)
    throw Error(fmt::format("GID {} of {} has index {}, and packets leave from the first {} GIDs only", to_text(*path.sgid), port.name(),
                            *index, last_sgid_index + 1));
  return static_cast<std::uint8_t>(*index);
}

std::uint16_t pkey_index(const IbPath& path) {
  const auto& port = gsi_port(path);
  if (const auto index = index_of(port.pkeys, path.pkey)) return *index;
  if (const auto index = index_of(port.pkeys, Pkey{static_cast<std::uint16_t>(path.pkey.value ^ membership_bit)})) return *index;
  throw Error(fmt::format("PKey 0x{:x} not available on {}", path.pkey.value, port.name()));
}

void set_pkey_index(IbPath& path, unsigned index) {
  const auto& port = gsi_port(path);
  if (index >= port.pkeys.size() || (port.pkeys[index].value & ~membership_bit) == 0) {
    throw UsageError(fmt::format("PKey index {} not available on {}", index, port.name()));
  }
  path.pkey = port.pkeys[index];
}

std::uint8_t slid_bits(const IbPath& path) { return static_cast<std::uint8_t>(path.slid.value & lmc_mask(end_port(path))); }

}  // namespace ib::path
