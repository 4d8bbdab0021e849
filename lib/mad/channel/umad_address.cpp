// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The kernel keeps the fields of an address in network order, except the indexes.
#include "mad/channel/umad_address.hpp"

#include <algorithm>
#include <type_traits>

#include "path/indexes.hpp"

namespace ib::mad {

namespace {

template <class T>
void store(T& member, std::type_identity_t<T> value) {
  store_be(reinterpret_cast<std::uint8_t*>(&member), value);
}

template <class T>
T load(const T& member) {
  return load_be<T>(reinterpret_cast<const std::uint8_t*>(&member));
}

}  // namespace

ib_mad_addr_t umad_address(path::IbPath path, const sys::EndPort& end_port, bool smp) {
  path.end_port = &end_port.carrier(smp);
  ib_mad_addr_t address{};
  store(address.qpn, path.dqpn ? path.dqpn->value : (smp ? 0U : 1U));
  store(address.qkey, path.qkey.value_or(smp ? 0 : path::qp1_qkey));
  store(address.lid, path.dlid.value);
  address.sl = path.sl;
  if (path.slid != permissive_lid) address.path_bits = path::slid_bits(path);
  if (path.has_grh) {
    address.grh_present = 1;
    if (path.dgid) std::ranges::copy(path.dgid->bytes, address.gid);
    address.gid_index = path::sgid_index(path);
    address.hop_limit = path.hop_limit;
    address.traffic_class = path.traffic_class;
    store(address.flow_label, path.flow_label);
  }
  // SMPs always have the default P_Key (IBA figure 156).
  if (!smp && !path.end_port->pkeys.empty()) address.pkey_index = path::pkey_index(path);
  return address;
}

Source umad_source(const ib_mad_addr_t& address, const sys::EndPort& end_port) {
  Source source;
  source.slid = Lid{load(address.lid)};
  source.sl = address.sl;
  source.dlid_bits = address.path_bits;
  source.pkey_index = address.pkey_index;
  source.sqpn = load(address.qpn);
  source.qkey = load(address.qkey);
  source.has_grh = address.grh_present != 0;
  if (source.has_grh) {
    std::copy_n(address.gid, source.sgid.bytes.size(), source.sgid.bytes.begin());
    const sys::PortTable<Gid>& gids = end_port.carrier(false).gids;  // no SMP has a GRH
    if (address.gid_index < gids.size()) source.dgid = gids[address.gid_index];
    source.hop_limit = address.hop_limit;
    source.traffic_class = address.traffic_class;
    source.flow_label = load(address.flow_label);
  }
  return source;
}

}  // namespace ib::mad
