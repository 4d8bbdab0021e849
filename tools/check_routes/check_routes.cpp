// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// check_routes: whether every packet arrives, and whether packets can wait for each other for ever. Tables are read, then analysed without
// a request; only where ports can wait for each other in a circle, SLtoVL mapping tables and SLs are read too.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "async/loop.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "iba-gen/sa.hpp"
#include "sa/subn_adm.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/check_routes/routes.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/progress.hpp"

namespace ib::tools {
namespace routes {

using subnet::PortIndex;

std::size_t Tables::number_of(Lid dlid) const {
  const auto found = std::ranges::lower_bound(destinations, dlid, {}, &routing::DestinationLid::lid);
  return found == destinations.end() || found->lid != dlid ? routing::none : static_cast<std::size_t>(found - destinations.begin());
}

async::Task<> analyse(const RouteChecks& checks, Tables& tables, const routing::ReadLanes& read_lanes, const routing::Pause& pause,
                      RouteFindings& found) {
  const routing::AnalysisChoice choice{checks.wants_unicast(), checks.wants_multicast() && !tables.skips_multicast, checks.sls.value_or(0)};
  const routing::UseRoutes add_load = [&found](const routing::RouteTree& to, std::size_t) { found.load.add(to); };
  co_await routing::analyse(tables, choice, add_load, read_lanes, pause, found);
  found.load.finish();
}

namespace {

/// Reads the forwarding tables of all switches; with files of --lfts only the multicast tables. Returns what failed.
async::Task<subnet::Failures> read_tables(Stack& stack, const RouteChecks& checks, Tables& tables) {
  routing::TablesToRead to;
  to.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "switches"); };
  if (checks.lfts.empty()) to.linear = &tables.linear;
  if (checks.wants_multicast() && !tables.skips_multicast) to.multicast = &tables.multicast;
  if (checks.lfts.empty() && !stack.host().options().use_sa) to.adaptive = &tables.adaptive;  // the SA has no such record
  subnet::Failures failures = co_await routing::read_tables(stack.transactor(), tables.network, to, stack.here());
  tables.multicast.finish();
  co_return failures;
}

/// Reads the paths of the SA from one source after another, for their SLs. Where that fails, the SLs stay unknown; `why` then says so.
async::Task<> read_paths(Stack& stack, Tables& tables, std::string& why) {
  const routing::Network& network = tables.network;
  tables.begin_levels();
  co_await stack.prepare_sa();
  const GidPrefix prefix = stack.host().end_port().default_gid().prefix();
  PortIndex before = subnet::none;
  std::size_t done = 0;
  for (const routing::DestinationLid& from : tables.destinations) {
    const PortIndex port =
        from.is_switch() ? network.subnet().node(network.switches()[from.at].node).first_port : network.hosts()[from.host].port;
    stack.progress().count(++done, tables.destinations.size(), "sources");
    if (port == before) continue;  // a further LID of the same port
    before = port;
    sa::PathRecord::Query query;
    query.sgid(Gid::from(prefix, network.subnet().port_guid(port)));
    std::vector<sa::PathRecord> records;
    try {
      records = co_await sa::subn_adm_get_table(stack.transactor(), query);
    } catch (const SysError&) {
      throw;
    } catch (const Error& error) {
      if (why.empty()) why = error.message();
      if (dynamic_cast<const mad::MadTimeout*>(&error) != nullptr) break;  // the SA would not answer the other queries either
    }
    const std::size_t sender = from.is_switch() ? network.hosts().size() + from.at : from.host;
    for (const sa::PathRecord& record : records) {
      const std::size_t to = tables.number_of(record.dlid);
      if (to != routing::none) tables.levels.set(sender, to, record.sl);
    }
  }
}

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
              [this](std::string_view text) { checks_.sls = parse_sls(text); });
    set.text("--psl", checks_.psl, "FILE", "Read the SL of each pair from this file: node GUID, DLID and SL a line.");
    set.flag("--ask-sa", checks_.from_sa, "Read the SL of each pair from the subnet administrator, one source after another.");
    set.flag("--unicast", checks_.unicast, "Check unicast only.");
    set.flag("--multicast", checks_.multicast, "Check multicast only.");
    set.flag("--switches", checks_.switches, "Treat switches as senders and destinations too.");
    set.flag("--load", checks_.load, "Show what each link carries.");
    set.value("--lfts", "FILE", "Read forwarding tables from this file (dump_lfts, ibroute, opensm), not from the switches.",
              [this](std::string_view text) { checks_.lfts.emplace_back(text); });
    set.text("--topology", checks_.topology, "FILE", "Read nodes and links from this file of a fabric, and no others. Needs --lfts.");
    set.one_of({"--unicast", "--multicast"});
    set.one_of({"--sl", "--psl", "--ask-sa"});
    set.one_of({"--multicast", "--load"});
    for (const std::string_view other : {"--load-cache", "--ask-sa"}) set.one_of({"--topology", other});
    add_discovery(set, checks_.discovery);
    add_common(set, common, group_fabric);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (checks_.topology && checks_.lfts.empty()) throw UsageError("--topology needs --lfts: a listing has no forwarding tables");
    if (checks_.topology && session.host().options().from) throw UsageError("--topology and --from exclude each other");
    Fabric fabric;
    if (checks_.topology) {
      load_fabric(*checks_.topology, fabric);
      fabric.names = session.manners().node_name_map();
    } else {
      fabric = co_await discover(session, checks_.discovery);
    }
    Tables tables(fabric.subnet, checks_.switches);
    co_await read(session.stack(), fabric, tables);
    RouteFindings found(tables);
    routing::ReadLanes lanes = [&](std::vector<routing::WantedLanes> ports) {
      return read_lane_tables(session.stack(), fabric, tables, std::move(ports));
    };
    const routing::Pause others = [&session](std::size_t done, std::size_t of, std::string_view units) {
      return session.stack().progress().pause(done, of, units);
    };
    if (!checks_.can_request()) lanes = nullptr;
    co_await analyse(checks_, tables, lanes, others, found);
    emit(*make_report(fabric, checks_, tables, found));
  }

 private:
  async::Task<> read(Stack& stack, Fabric& fabric, Tables& tables) const {
    if (checks_.sls) tables.levels = routing::ServiceLevels(*checks_.sls);
    if (checks_.psl) warn(stack.host().log(), read_level_file(*checks_.psl, tables));
    if (!checks_.lfts.empty()) warn(stack.host().log(), read_table_files(checks_.lfts, tables));
    const bool has_groups = tables.multicast.unread_count() < tables.network.switches().size();
    const bool is_stored = stack.host().options().from && !stack.host().stored().has_part("mft");
    tables.skips_multicast = !checks_.multicast && !tables.has_multicast_file && (is_stored || !checks_.can_request());
    const bool can_read_groups = checks_.wants_multicast() && checks_.can_request() && !tables.skips_multicast;
    if (checks_.lfts.empty() || (can_read_groups && !has_groups)) {
      std::vector<subnet::Failure> failures = co_await read_tables(stack, checks_, tables);
      require_read(tables.has_any(), failures);
      add_failures(stack.host(), fabric, std::move(failures));
    }
    if (!can_read_groups) co_return;
    std::string why;
    co_await stack.prepare_sa();
    const std::vector<sa::MCMemberRecord> records = co_await routing::read_group_records(stack.transactor(), why);
    tables.lacks_groups = !why.empty();
    if (!stack.host().options().from || stack.host().stored().has_part("sa")) tables.why_no_groups = why;
    for (const sa::MCMemberRecord& record : records) tables.groups.add(tables.network, record);
    if (!why.empty()) stack.host().debug(fmt::format("Members of multicast groups are taken from the tables: {}", why));
  }

  /// Reads what the verdict on loops of ports needs, and was not requested before.
  async::Task<> read_lane_tables(Stack& stack, Fabric& fabric, Tables& tables, std::vector<routing::WantedLanes> ports) {
    std::erase_if(ports, [&](routing::WantedLanes& of) {
      const routing::PortId out = tables.network.port_id(of.at, of.out);
      std::erase_if(of.in, [&](std::uint8_t in) { return !requested_lanes_.emplace(out, in).second; });
      return of.in.empty();
    });
    if (!ports.empty()) {
      subnet::SurveyOptions options = port_survey(stack, subnet::SurveyWay::smp);
      std::vector<subnet::Failure> failures =
          co_await routing::read_lanes(stack.transactor(), tables.network, std::move(ports), tables.lanes, std::move(options));
      add_failures(stack.host(), fabric, std::move(failures));
    }
    if (!checks_.from_sa || tables.levels.is_by_pair()) co_return;
    std::string why;
    co_await read_paths(stack, tables, why);
    if (!why.empty()) stack.host().log().error(fmt::format("The SLs of some pairs, or of all, are not known: {}", why));
  }

  static void warn(Log& log, const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) log.error(remark);
  }

  RouteChecks checks_;
  std::set<std::pair<routing::PortId, std::uint8_t>> requested_lanes_;  // SLtoVL mapping tables by output port and input port
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
