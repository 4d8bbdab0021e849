// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/check_routes/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "routing/table_reader.hpp"
#include "sa/subn_adm.hpp"
#include "tools/shared/group_records.hpp"

namespace ib::tools::routes {
namespace {

using subnet::PortIndex;

Lid last_lid(const std::vector<routing::DestinationLid>& destinations) { return destinations.empty() ? Lid{0} : destinations.back().lid; }

/// The index of a sender in ServiceLevels: hosts, then switches.
std::size_t sender_of(const routing::Network& network, const routing::DestinationLid& at) {
  return at.is_switch() ? network.hosts().size() + at.at : at.host;
}

}  // namespace

Tables::Tables(const subnet::Subnet& subnet, bool with_switches)
    : network(subnet),
      destinations(network.destinations(with_switches)),
      linear(network.switches().size(), last_lid(destinations)),
      adaptive(routing::unread_adaptive_routing(network)),
      multicast(network.switches().size()),
      lanes(network.switches().size()) {}

bool Tables::has_any() const {
  const std::vector<routing::SwitchIndex> switches = routing::all_switches(network);
  return std::ranges::any_of(switches, [this](routing::SwitchIndex at) { return linear.is_known(at) || multicast.is_known(at); });
}

async::Task<std::vector<subnet::Failure>> read_tables(Stack& stack, const Wanted& wanted, Tables& tables) {
  subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "switches"); };
  routing::TablesToRead to;
  if (wanted.lfts.empty()) to.linear = &tables.linear;
  if (wanted.wants_multicast() && !tables.skips_multicast) to.multicast = &tables.multicast;
  if (wanted.lfts.empty() && !stack.host().options().use_sa) to.adaptive = &tables.adaptive;  // the SA has no such record
  std::vector<routing::SwitchIndex> switches = routing::all_switches(tables.network);
  std::vector<subnet::Failure> failures =
      co_await routing::read_tables(stack.transactor(), tables.network, std::move(switches), to, options);
  tables.multicast.finish();
  co_return failures;
}

async::Task<> read_groups(Stack& stack, Tables& tables, std::string& why) {
  const std::vector<sa::MCMemberRecord> records = co_await read_group_records(stack, why);
  tables.lacks_groups = !why.empty();
  for (const sa::MCMemberRecord& record : records) tables.groups.add(tables.network, record);
}

async::Task<> read_paths(Stack& stack, Tables& tables, bool with_switches, std::string& why) {
  const routing::Network& network = tables.network;
  tables.levels =
      routing::ServiceLevels(network.hosts().size() + (with_switches ? network.switches().size() : 0), tables.destinations.size());
  std::vector<std::uint32_t> number_of(last_lid(tables.destinations).value + 1U, routing::none);
  for (std::uint32_t i = 0; i < tables.destinations.size(); ++i) number_of[tables.destinations[i].lid.value] = i;
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
    for (const sa::PathRecord& record : records) {
      const std::uint32_t to = record.dlid.value < number_of.size() ? number_of[record.dlid.value] : routing::none;
      if (to != routing::none) tables.levels.set(sender_of(network, from), to, record.sl);
    }
  }
}

}  // namespace ib::tools::routes
