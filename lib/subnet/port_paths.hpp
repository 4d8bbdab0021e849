// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ways to nodes and ports. Those of SMPs the model alone tells; those of GMPs need service levels, which the SA tells of all ports in one
// answer. `start` is the path that the model was swept from: its end port, M_Key, tries and timeout become those of the paths.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model.hpp"

namespace ib::sa {
struct Records;
}

namespace ib::subnet {

/// The directed route that goes on from the end of `path`; from that of a routed path it begins at the LID.
path::IbDrPath route_from(const path::Path& path);

/// To the SMA of a node, by the directed route that reached it first; to the start itself `start`. Where `start` goes to a LID, the
/// route begins there.
path::Path smp_path(const Subnet& subnet, NodeIndex node, const path::Path& start);

/// By LID to the end port of `port`, for QP `qp` (0 or 1), with SL 0. Nothing where the model knows no LID of
/// it, or another port claimed that LID before.
std::optional<path::Path> lid_path(const Subnet& subnet, PortIndex port, const path::Path& start, Qpn qp);

/// To the agents of GMPs that answer for `port`: those at the LID of its end port.
inline std::optional<path::Path> gmp_path(const Subnet& subnet, PortIndex port, const path::Path& start) {
  return lid_path(subnet, port, start, Qpn{1});
}

/// The paths from `start` to the ports of a swept model.
class PortPaths {
 public:
  /// With SL 0 for GMPs until read_service_levels(). `subnet` must outlive this.
  PortPaths(const Subnet& subnet, path::Path start) : subnet_(subnet), start_(std::move(start)) {}

  /// To the SMA that answers for `port`.
  path::Path smp(PortIndex port) const { return smp_path(subnet_, subnet_.port(port).node, start_); }
  /// To the agents of GMPs that answer for `port`; nothing where there is no way, see why_no_gmp().
  std::optional<path::Path> gmp(PortIndex port) const;
  /// Why gmp() gives nothing, as a sentence.
  std::string why_no_gmp(PortIndex port) const;

  /// Asks the SA for the reversible paths from the end port of `start` to all others: one SubnAdmGetTable(PathRecord) (IBA 15.2.5.16).
  /// LIDs, SL, P_Key and packet life time of gmp() are those of the records then. Where the SA does not tell, SL 0 stays and
  /// why_sl_0() says why. Throws SysError.
  async::Task<> read_service_levels(mad::Transactor& transactor);

  /// Whether the SA told the service levels.
  bool has_service_levels() const { return !routes_.empty(); }
  /// Why SL 0 is used, of some or all ports, though the SA was to tell: words to follow "SL 0 is used: "; empty where it is not, or
  /// nobody asked.
  const std::string& why_sl_0() const { return why_sl_0_; }

 private:
  /// What a PathRecord says of a way.
  struct Route {
    Lid dlid, slid;
    Pkey pkey;
    std::uint8_t sl{}, packet_life_time{};
  };
  void take_paths(const sa::Records& records);

  const Subnet& subnet_;
  path::Path start_;
  std::unordered_map<PortIndex, Route> routes_;  // by end port
  std::string why_sl_0_;
};

}  // namespace ib::subnet
