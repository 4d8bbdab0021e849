// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// check_routes: whether every packet arrives, and whether packets can wait for each other for ever. Tables are read, then analysed without
// a request; only where ports can wait for each other in a circle, SLtoVL mapping tables and SLs are read too.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "async/loop.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/check_routes/analysis.hpp"
#include "tools/check_routes/fetch.hpp"
#include "tools/check_routes/report.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/lane_tables.hpp"
#include "tools/shared/stored_fabric.hpp"

namespace ib::tools {
namespace routes {
namespace {

/// Reads "0,2,4-7".
routing::SlSet parse_sls(std::string_view text) {
  routing::SlSet sls = 0;
  for (const std::string_view part : split_list(text)) {
    const std::size_t dash = part.find('-');
    const std::int64_t first = parse_integer(part.substr(0, dash), "SL", 0, routing::sl_count - 1);
    const std::int64_t last =
        dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1), "SL", first, routing::sl_count - 1);
    for (std::int64_t sl = first; sl <= last; ++sl) sls |= routing::SlSet{1} << static_cast<unsigned>(sl);
  }
  if (sls == 0) throw OptionError("LIST of SLs is empty");
  return sls;
}

class CheckRoutes final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.value("--sl", "LIST", "Each pair may use any of these SLs: 0,2,4-7.",
              [this](std::string_view text) { wanted_.sls = parse_sls(text); });
    set.text("--psl", wanted_.psl, "FILE", "Read the SL of each pair from this file: node GUID, DLID and SL a line.");
    set.flag("--ask-sa", wanted_.from_sa, "Read the SL of each pair from the subnet administrator, one source after another.");
    set.flag("--unicast", wanted_.unicast, "Check unicast only.");
    set.flag("--multicast", wanted_.multicast, "Check multicast only.");
    set.flag("--switches", wanted_.switches, "Treat switches as senders and destinations too.");
    set.flag("--load", wanted_.load, "Show what each link carries.");
    set.value("--lfts", "FILE", "Read forwarding tables from this file (dump_lfts, ibroute, opensm), not from the switches.",
              [this](std::string_view text) { wanted_.lfts.emplace_back(text); });
    set.text("--topology", wanted_.topology, "FILE", "Read nodes and links from this file of a fabric, and no others. Needs --lfts.");
    add_discovery(set, wanted_.discovery);
    add_common(set, common, group_fabric);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    check_options(session.host());
    Fabric fabric;
    async::Task<> topology = read_fabric(session, fabric);
    co_await std::move(topology);
    Tables tables(fabric.subnet, wanted_.switches);
    async::Task<> reading = read(session.stack(), fabric, tables);
    co_await std::move(reading);
    RouteFindings found(tables);
    routing::ReadLanes lanes = [&](std::vector<routing::WantedLanes> ports) {
      return read_lane_tables(session.stack(), fabric, tables, std::move(ports));
    };
    const routing::Pause others = [&session](std::size_t done, std::size_t of, std::string_view units) {
      return session.stack().progress().pause(done, of, units);
    };
    if (!wanted_.can_request()) lanes = nullptr;
    co_await analyse(wanted_, tables, lanes, others, found);
    emit(RoutesReport(fabric, wanted_, tables, found));
  }

 private:
  void check_options(const Host& host) const {
    if (wanted_.unicast && wanted_.multicast) throw UsageError("--unicast and --multicast exclude each other");
    if (wanted_.sls && wanted_.psl) throw UsageError("--sl and --psl exclude each other");
    if (wanted_.sls && wanted_.from_sa) throw UsageError("--sl and --ask-sa exclude each other");
    if (wanted_.psl && wanted_.from_sa) throw UsageError("--psl and --ask-sa exclude each other");
    if (wanted_.topology && wanted_.lfts.empty()) throw UsageError("--topology needs --lfts: a listing has no forwarding tables");
    if (wanted_.topology && wanted_.discovery.load_cache) throw UsageError("--topology and --load-cache exclude each other");
    if (wanted_.topology && host.options().from) throw UsageError("--topology and --from exclude each other");
    if (wanted_.multicast && wanted_.load) throw UsageError("--multicast and --load exclude each other");
    if (wanted_.topology && wanted_.from_sa) throw UsageError("--topology and --ask-sa exclude each other");
  }

  async::Task<> read_fabric(Session& session, Fabric& fabric) {
    if (!wanted_.topology) {
      co_await discover(session, wanted_.discovery, fabric);
      co_return;
    }
    load_fabric(*wanted_.topology, fabric);
    fabric.names = session.manners().node_name_map();
  }

  async::Task<> read(Stack& stack, Fabric& fabric, Tables& tables) const {
    if (wanted_.sls) tables.levels = routing::ServiceLevels(*wanted_.sls);
    if (wanted_.psl) warn(stack.host().log(), read_level_file(*wanted_.psl, tables, wanted_.switches));
    if (!wanted_.lfts.empty()) warn(stack.host().log(), read_table_files(wanted_.lfts, tables));
    const bool has_groups = tables.multicast.unread_count() < tables.network.switches().size();
    const bool is_stored = stack.host().options().from && !stack.host().stored().has_part("mft");
    tables.skips_multicast = !wanted_.multicast && !tables.has_multicast_file && (is_stored || !wanted_.can_request());
    const bool can_read_groups = wanted_.wants_multicast() && wanted_.can_request() && !tables.skips_multicast;
    if (wanted_.lfts.empty() || (can_read_groups && !has_groups)) {
      std::vector<subnet::Failure> failures = co_await read_tables(stack, wanted_, tables);
      require_read(tables.has_any(), failures);
      add_failures(stack.host(), fabric, std::move(failures));
    }
    if (!can_read_groups) co_return;
    std::string why;
    co_await read_groups(stack, tables, why);
    if (!why.empty()) stack.host().debug(1, fmt::format("Members of multicast groups are taken from the tables: {}", why));
  }

  /// Reads what the verdict on loops of ports needs, and was not requested before.
  async::Task<> read_lane_tables(Stack& stack, Fabric& fabric, Tables& tables, std::vector<routing::WantedLanes> ports) {
    std::erase_if(ports, [&](routing::WantedLanes& of) {
      const routing::PlaceIndex out = tables.network.place(of.at, of.out);
      std::erase_if(of.in, [&](std::uint8_t in) { return !requested_lanes_.emplace(out, in).second; });
      return of.in.empty();
    });
    if (!ports.empty()) {
      std::vector<subnet::Failure> failures = co_await read_lanes(stack, tables.network, std::move(ports), tables.lanes);
      add_failures(stack.host(), fabric, std::move(failures));
    }
    if (!wanted_.from_sa || tables.levels.is_by_pair()) co_return;
    std::string why;
    co_await read_paths(stack, tables, wanted_.switches, why);
    if (!why.empty()) stack.host().log().error(fmt::format("The SLs of some pairs, or of all, are not known: {}", why));
  }

  static void warn(Log& log, const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) log.error(remark);
  }

  Wanted wanted_;
  std::set<std::pair<routing::PlaceIndex, std::uint8_t>> requested_lanes_;  // SLtoVL mapping tables by output port and input port
};

}  // namespace
}  // namespace routes

constinit const CommandInfo rooms::check_routes{
    .name = "check_routes",
    .group = HelpGroup::forwarding,
    .summary = "Check that every packet arrives, and that none can wait for ever.",
    .make = make_command<routes::CheckRoutes>,
};

}  // namespace ib::tools
