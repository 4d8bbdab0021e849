// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes is to look at, where its tables come from (switches, a snapshot, files, the SA), and what it finds in them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "routing/credit_loops.hpp"
#include "routing/multicast.hpp"
#include "routing/tables.hpp"
#include "routing/unicast.hpp"
#include "tools/frame/report.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::routes {

struct RouteChecks {
  bool switches{};   ///< switches send and receive too
  bool unicast{};    ///< only unicast
  bool multicast{};  ///< only multicast
  bool load{};
  std::optional<routing::SlSet> sls;    ///< each pair may use these
  std::optional<std::string> psl;       ///< the file with the SL of each pair
  bool from_sa{};                       ///< the SA says the SL of each pair
  std::vector<std::string> lfts;        ///< files with forwarding tables, instead of the tables of the switches
  std::optional<std::string> topology;  ///< a listing of ibnetdiscover, instead of the fabric
  DiscoveryOptions discovery;

  bool wants_unicast() const { return !multicast; }
  bool wants_multicast() const { return !unicast; }
  /// Whether data that the files do not have can be requested from the fabric or from a snapshot of it.
  bool can_request() const { return !topology && (lfts.empty() || !discovery.load_cache); }
};

struct Tables : routing::NetworkTables {
  using NetworkTables::NetworkTables;

  bool lacks_groups = true;
  std::string why_no_groups{};  ///< the groups were to be read and could not be; empty if they were read, or nothing given has them
  bool has_multicast_file{};    ///< a file of --lfts has multicast tables, whole or not
  bool skips_multicast{};       ///< nothing that was given has multicast tables, and none were wanted

  /// The number of the destination with that LID; none if no destination has it.
  std::size_t number_of(Lid dlid) const;
  /// Forgets all SLs, so that the SLs of pairs can be set, by the number of the sender: hosts, then switches.
  void begin_levels() {
    const std::size_t switches = switches_send ? network.switches().size() : 0;
    levels = routing::ServiceLevels(network.hosts().size() + switches, destinations.size());
  }
};

struct RouteFindings : routing::RouteFindings {
  explicit RouteFindings(const Tables& tables) : routing::RouteFindings(tables), load(tables.network) {}
  routing::Load load;
};

/// Reads the files of --lfts into the tables. Returns remarks on them, one line each. Throws UsageError or SysError.
std::vector<std::string> read_table_files(const std::vector<std::string>& files, Tables& tables);
/// Reads the file of --psl. Returns remarks on it. Throws UsageError or SysError.
std::vector<std::string> read_level_file(const std::string& file, Tables& tables);

/// routing::analyse() for `checks`.
async::Task<> analyse(const RouteChecks& checks, Tables& tables, const routing::ReadLanes& read_lanes, const routing::Pause& pause,
                      RouteFindings& found);

/// All must outlive the report.
std::unique_ptr<Report> make_report(const Fabric& fabric, const RouteChecks& checks, const Tables& tables, const RouteFindings& found);

}  // namespace ib::tools::routes
