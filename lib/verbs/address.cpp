// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "path/indexes.hpp"

namespace ib::verbs {

ibv_ah_attr address_of(const path::IbPath& path) {
  const bool roce = path.end_port->link_layer == sys::LinkLayer::ethernet;
  ibv_ah_attr address{};
  address.port_num = static_cast<std::uint8_t>(path.end_port->number);
  address.dlid = path.dlid.value;
  address.sl = path.sl;
  if (path.slid != permissive_lid) address.src_path_bits = path::slid_bits(path);
  // The rate codes are those of a PathRecord (IBA 15.2.5.16). On RoCE no SA gives a rate, so the rate stays unlimited.
  if (!roce) address.static_rate = path.rate;
  if (!path.has_grh) return address;
  address.is_global = 1;
  if (path.dgid) std::ranges::copy(path.dgid->bytes, address.grh.dgid.raw);
  address.grh.sgid_index = path::sgid_index(path);
  address.grh.hop_limit = path.hop_limit;
  address.grh.traffic_class = path.traffic_class;
  address.grh.flow_label = path.flow_label;
  return address;
}

std::uint16_t pkey_index_of(const path::IbPath& path) { return path.end_port->pkeys.empty() ? std::uint16_t{0} : path::pkey_index(path); }

std::uint8_t time_code(path::Duration time) {
  std::uint8_t code = 1;
  while (code < 31 && path::Duration(std::int64_t{4096} << code) < time) ++code;
  return code;
}

AddressHandle::AddressHandle(const ProtectionDomain& domain, const path::IbPath& path) {
  ibv_ah_attr address = address_of(path);
  handle_.reset(ibv_create_ah(domain.get(), &address));
  if (!handle_) throw SysError(errno, "ibv_create_ah", fmt::format("{}, {}", path.end_port->name(), path::to_text(path::Path(path))));
}

}  // namespace ib::verbs
