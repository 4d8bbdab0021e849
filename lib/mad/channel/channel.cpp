// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Converts the headers of a received MAD to the path that the MAD took.
#include "mad/channel/channel.hpp"

namespace ib::mad {

path::Path Source::path(const sys::EndPort& end_port, std::uint8_t mgmt_class) const {
  path::IbPath path;
  const bool smp = is_smp(mgmt_class);
  const sys::EndPort& carrier = end_port.carrier(smp);
  path.end_port = &end_port;
  path.slid = slid;
  path.dlid = Lid{static_cast<std::uint16_t>(carrier.lid.value | dlid_bits)};
  path.sl = sl;
  path.sqpn = Qpn{sqpn};
  path.dqpn = Qpn{smp ? 0U : 1U};
  // The kernel does not report the Q_Key. All GMPs have the same one (IBA 13.5.1).
  path.qkey = !smp && qkey == 0 ? path::qp1_qkey : qkey;
  // SMPs have the default P_Key, whatever index a driver reports (IBA 10.9.8, figure 156).
  if (!smp && pkey_index < carrier.pkeys.size()) path.pkey = carrier.pkeys[pkey_index];
  path.has_grh = has_grh;
  if (has_grh) {
    path.sgid = sgid;
    path.dgid = dgid;
    path.hop_limit = hop_limit;
    path.traffic_class = traffic_class;
    path.flow_label = flow_label;
  }
  return path;
}

}  // namespace ib::mad
