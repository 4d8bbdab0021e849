// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/check_routes/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "iba-gen/sa.hpp"
#include "routing/table_reader.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/smp_tables.hpp"
#include "tools/shared/group_records.hpp"

namespace ib::tools::routes {
namespace {

using subnet::PortIndex;

constexpr unsigned full_member = 1, non_member = 2;  // JoinState (IBA 15.2.5.17)

Lid last_lid(const std::vector<routing::DestinationLid>& destinations) { return destinations.empty() ? Lid{0} : destinations.back().lid; }

/// The number of VLs for data of a port; packets on others are discarded (IBA 14.2.5.6: PortInfo.OperationalVLs). All where it is not
/// known.
unsigned lane_count(smp::VLCap operational) {
  const auto code = static_cast<unsigned>(operational);
  return code >= 1 && code <= 4 ? 1U << (code - 1) : routing::dropped_vl;
}

/// Reads the rows of SLtoVL tables, one question for each output port.
class LaneReader {
 public:
  LaneReader(Tables& tables, std::vector<routing::WantedLanes> wanted) : tables_(tables), wanted_(std::move(wanted)) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) by_port_[tables_.network.port_of(place(wanted_[i]))] = i;
  }
  std::vector<PortIndex> ports() const {
    std::vector<PortIndex> all;
    for (const routing::WantedLanes& of : wanted_) {
      if (!of.in.empty()) all.push_back(tables_.network.port_of(place(of)));
    }
    return all;
  }

  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const routing::WantedLanes& of = wanted_[by_port_.at(port.index)];
    const unsigned count = lane_count(tables_.network.subnet().port(port.index).info().operational_vls);
    std::vector<std::uint32_t> modifiers;
    for (const std::uint8_t in : of.in) modifiers.push_back(static_cast<std::uint32_t>(in << 8U | of.out));  // IBA 14.2.5.8
    const subnet::SmpBlocks blocks =
        co_await subnet::try_read_smp_blocks(port.transactor, port.path, smp::SLToVLMappingTable::info(), modifiers);
    for (std::size_t i = 0; i < of.in.size(); ++i) {
      if (std::ranges::binary_search(blocks.unread, i)) continue;
      const auto row = smp::SLToVLMappingTable::unpack(blocks.block(i)).sl_to_vl;
      std::array<std::uint8_t, routing::sl_count> vls{};
      for (unsigned sl = 0; sl < routing::sl_count; ++sl) {
        const auto vl = static_cast<std::uint8_t>(row[sl]);
        vls[sl] = vl < count ? vl : routing::dropped_vl;
      }
      tables_.lanes.set(of.at, tables_.network.switches()[of.at].slots, of.in[i], of.out, vls);
    }
    if (blocks.error) co_return blocks.error;
    co_return true;
  }

 private:
  routing::PlaceIndex place(const routing::WantedLanes& of) const { return tables_.network.place(of.at, of.out); }

  Tables& tables_;
  std::vector<routing::WantedLanes> wanted_;
  std::unordered_map<PortIndex, std::size_t> by_port_;
};

/// The index of a sender in ServiceLevels: hosts, then switches.
std::size_t sender_of(const routing::Network& network, const routing::DestinationLid& at) {
  return at.is_switch() ? network.hosts().size() + at.at : at.host;
}

/// The member with the GUID of a record; nothing if it is not in the fabric.
std::optional<routing::Member> member_of(const routing::Network& network, const sa::MCMemberRecord& record) {
  const PortIndex port = network.subnet().find_port(record.port_gid.guid());
  if (port == subnet::none) return std::nullopt;
  routing::Member member;
  member.host = network.host_of(port);
  if (member.host == routing::none) member.at = network.switch_of(network.subnet().port(port).node);
  if (member.host == routing::none && member.at == routing::none) return std::nullopt;
  member.receives = (record.join_state & (full_member | non_member)) != 0;
  return member;
}

/// Adds a member. A port that is in two groups of one MLID is one member of both.
void add_member(std::vector<routing::Member>& members, const routing::Member& member) {
  const auto known = std::ranges::find_if(members, [&](const routing::Member& of) { return of.host == member.host && of.at == member.at; });
  if (known == members.end()) {
    members.push_back(member);
  } else {
    known->receives = known->receives || member.receives;
  }
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

async::Task<std::vector<subnet::Failure>> read_tables(Session& session, const Wanted& wanted, Tables& tables) {
  subnet::SurveyOptions options(session.here(), subnet::SurveyWay::smp);
  options.progress = [&session](std::size_t done, std::size_t of) { session.progress().count(done, of, "switches"); };
  routing::TablesToRead to;
  if (wanted.lfts.empty()) to.linear = &tables.linear;
  if (wanted.wants_multicast()) to.multicast = &tables.multicast;
  if (wanted.lfts.empty() && !session.options().use_sa) to.adaptive = &tables.adaptive;  // the SA has no such record
  std::vector<routing::SwitchIndex> switches = routing::all_switches(tables.network);
  std::vector<subnet::Failure> failures =
      co_await routing::read_tables(session.transactor(), tables.network, std::move(switches), to, options);
  tables.multicast.finish();
  co_return failures;
}

async::Task<std::vector<subnet::Failure>> read_lanes(Session& session, const Fabric& fabric, std::vector<routing::WantedLanes> ports,
                                                     Tables& tables) {
  LaneReader reader(tables, std::move(ports));
  subnet::SurveyOptions options(session.here(), subnet::SurveyWay::smp);
  options.progress = [&session](std::size_t done, std::size_t of) { session.progress().count(done, of, "ports"); };
  const subnet::SurveyQuestion<bool> ask = [&reader](subnet::SurveyPort port) { return reader.read(port); };
  std::vector<PortIndex> to = reader.ports();
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(session.transactor(), fabric.subnet, std::move(to), options, ask);
  co_return std::move(surveyed.failures);
}

async::Task<> read_groups(Session& session, Tables& tables, std::string& why) {
  const std::vector<sa::MCMemberRecord> records = co_await read_group_records(session, why);
  tables.lacks_groups = !why.empty();
  for (const sa::MCMemberRecord& record : records) {
    if (!record.mlid.is_multicast()) continue;
    tables.group_sls[record.mlid.value] |= routing::SlSet{1} << record.sl;
    if (record.port_gid.guid() == Guid{}) continue;  // a group whose members the SA does not name
    const auto member = member_of(tables.network, record);
    member ? add_member(tables.members[record.mlid.value], *member)
           : static_cast<void>(tables.strange_members.insert(record.port_gid.guid()));
  }
}

async::Task<> read_paths(Session& session, Tables& tables, bool with_switches, std::string& why) {
  const routing::Network& network = tables.network;
  tables.levels =
      routing::ServiceLevels(network.hosts().size() + (with_switches ? network.switches().size() : 0), tables.destinations.size());
  std::vector<std::uint32_t> number_of(last_lid(tables.destinations).value + 1U, routing::none);
  for (std::uint32_t i = 0; i < tables.destinations.size(); ++i) number_of[tables.destinations[i].lid.value] = i;
  co_await session.prepare_sa();
  const GidPrefix prefix = session.end_port().default_gid().prefix();
  PortIndex before = subnet::none;
  std::size_t done = 0;
  for (const routing::DestinationLid& from : tables.destinations) {
    const PortIndex port =
        from.is_switch() ? network.subnet().node(network.switches()[from.at].node).first_port : network.hosts()[from.host].port;
    session.progress().count(++done, tables.destinations.size(), "sources");
    if (port == before) continue;  // a further LID of the same port
    before = port;
    sa::PathRecord::Query query;
    query.sgid(Gid::from(prefix, network.subnet().port_guid(port)));
    std::vector<sa::PathRecord> records;
    try {
      records = co_await sa::subn_adm_get_table(session.transactor(), query);
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
