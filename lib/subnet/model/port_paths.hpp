// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths to nodes and ports. Paths of SMPs follow from the model. Paths of GMPs need service levels, which one query to
// the SA gives for all ports. `start` is the path from which the model was swept; the new paths have its end port, M_Key,
// retries and timeout. Each is meant for the node of the model, and a path to a LID for the end port that has it
// (IbPath::expected_node_guid).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/model.hpp"

namespace ib::sa {
struct Records;
}

namespace ib::subnet {

/// The directed route from the end of `path`, for adding hops. For a LID-routed path, the route begins at the LID.
path::IbDrPath route_from(const path::Path& path);

/// The path to the SMA of a node, by the directed route that first reached the node. For the first node it is `start`. If
/// `start` is LID-routed, the directed route begins at that LID.
path::Path smp_path(const Subnet& subnet, NodeIndex node, const path::Path& start);

/// The path to the SMA at `port`, for attributes that each port of a node has for itself, as SMInfo and the P_Key table of a channel
/// adapter. A port by which smp_path() does not lead to its node is reached over its own link. Of a port without a link, and of a switch,
/// it is smp_path() of the node.
path::Path sma_path(const Subnet& subnet, PortIndex port, const path::Path& start);

/// The LID-routed path to the end port of `port`, for QP `qp` (0 or 1), with SL 0. Nothing if the model has no LID of the port,
/// or if another port claimed the LID before.
std::optional<path::Path> lid_path(const Subnet& subnet, PortIndex port, const path::Path& start, Qpn qp);

/// The path to the GMP agents of `port`, which are at the LID of its end port.
inline std::optional<path::Path> gmp_path(const Subnet& subnet, PortIndex port, const path::Path& start) {
  return lid_path(subnet, port, start, Qpn{1});
}

class PortPaths {
 public:
  /// GMPs use SL 0 until read_service_levels(). `subnet` must outlive this object.
  PortPaths(const Subnet& subnet, path::Path start) : subnet_(subnet), start_(std::move(start)) {}

  /// The path to the SMA of the node of `port`; see also sma_path().
  path::Path smp(PortIndex port) const { return smp_path(subnet_, subnet_.port(port).node, start_); }
  /// The path to the GMP agents of `port`. Nothing if there is no path; see why_no_gmp().
  std::optional<path::Path> gmp(PortIndex port) const;
  /// Makes gmp() do as infiniband-diags does: the path leads to the LID in the PortInfo of the port, even if another port claims this LID
  /// or the SA has no path. Only the SL is taken from the paths of the SA.
  void keep_to_base_lids() { base_lids_ = true; }
  std::string why_no_gmp(PortIndex port) const {
    if (gmp_path(subnet_, port, start_)) return "The SA knows no path: no GMPs are sent.";
    return "No own LID is known: no GMPs are sent.";
  }

  /// Reads the reversible paths from the end port of `start` to all other ports: one SubnAdmGetTable(PathRecord) (IBA
  /// 15.2.5.16). gmp() then uses LIDs, SL, P_Key and packet life time of the records. If the SA does not give them, SL 0
  /// remains and why_sl_0() gives the reason. Throws SysError.
  async::Task<> read_service_levels(mad::Transactor& transactor);

  /// Lets gmp() use the LIDs, SL, P_Key and packet life time of `path`, which the SA gave for `end_port`.
  void use(PortIndex end_port, const path::Path& path) {
    const path::IbPath& ib = path.ib();
    routes_.insert_or_assign(end_port, Route{ib.dlid, ib.slid, ib.pkey, ib.sl, path::packet_life_time(ib)});
  }
  /// SL 0 remains for the ports without a path of the SA, for this reason.
  void do_without(std::string why) { why_sl_0_ = std::move(why); }

  bool has_service_levels() const { return !routes_.empty(); }
  /// The reason why SL 0 is used for some or all ports although the SA was queried. The text follows "SL 0 is used: ". Empty if there is no
  /// such port, or if the SA was not queried.
  const std::string& why_sl_0() const { return why_sl_0_; }
  bool is_sa_silent() const { return is_sa_silent_; }

 private:
  struct Route {
    Lid dlid, slid;
    Pkey pkey;
    std::uint8_t sl{}, packet_life_time{};
  };
  void take_paths(const sa::Records& records);
  std::optional<path::Path> to_base_lid(PortIndex port) const;

  const Subnet& subnet_;
  path::Path start_;
  std::unordered_map<PortIndex, Route> routes_;  // by end port
  std::string why_sl_0_;
  bool is_sa_silent_{};
  bool base_lids_{};
};

/// The shortest routes from `subnet.start` over links with no port in `avoided`. `subnet` must outlive this object.
class RoutesAround {
 public:
  RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided);

  /// The route to `end_port` itself, not to another port of its adapter. The route has no local end port yet. Nothing if there
  /// is no route, or if it is too long (IBA 14.2.2).
  std::optional<path::IbDrPath> to(PortIndex end_port) const;

 private:
  const Subnet& subnet_;
  std::vector<PortIndex> via_;  ///< by end port: the output port of the node before it
};

}  // namespace ib::subnet
