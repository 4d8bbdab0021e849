// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// P_Key tables, multicast groups, forwarding tables; and the few blocks of these on the ways of requests that were not answered.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/group.hpp"
#include "health/routes.hpp"
#include "routing/tables.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::health {
namespace {

using subnet::NodeKind;
using subnet::PortIndex;

/// The valid P_Keys of a port, ascending.
struct Pkeys {
  std::vector<std::uint16_t> values;
  bool is_whole = true;  ///< false: there are more than are requested
};

constexpr std::size_t pkeys_per_block = 32;  // IBA 14.2.5.7
constexpr std::size_t most_blocks = 8;       // of a port; a node may claim 2048 and fill them all

bool enforces_pkeys(const subnet::Port& port) {
  const smp::PortInfo info = port.info();
  return info.partition_enforcement_inbound != 0 || info.partition_enforcement_outbound != 0;
}

bool is_host_port(const subnet::Subnet& subnet, PortIndex at) {
  const subnet::Port& port = subnet.port(at);
  return subnet.node(port.node).kind() != NodeKind::sw && subnet::is_link_active(port);
}

/// End ports that are in use, subnet managers on switches, and switch ports that let nothing pass to hosts but what their table holds.
std::vector<PortIndex> ports_with_pkeys(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    const bool is_switch = subnet.node(port.node).kind() == NodeKind::sw;
    const bool manages = port.number == 0 && subnet::has_is_sm(port.info());
    const bool is_gate = port.number != 0 && port.peer != subnet::none && is_host_port(subnet, port.peer) && enforces_pkeys(port);
    if (is_switch ? manages || is_gate : is_host_port(subnet, at)) ports.push_back(at);
  }
  return ports;
}

/// Reads the P_Keys of a port. Subnet managers fill tables from their beginning: a block without any is the end.
async::Task<mad::Result<Pkeys>> request_pkeys(subnet::SurveyPort port, path::Path path, std::uint32_t number, std::size_t capacity) {
  Pkeys pkeys;
  const std::size_t blocks = (capacity + pkeys_per_block - 1) / pkeys_per_block;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    pkeys.is_whole = block < most_blocks;
    if (!pkeys.is_whole) break;
    const mad::Result<smp::PKeyTable> answer = co_await port.transactor.try_subn_get<smp::PKeyTable>(path, number << 16U | block);
    if (!answer) co_return answer.shared_error();
    const std::size_t before = pkeys.values.size();
    std::ranges::copy_if(answer->p_key_block, std::back_inserter(pkeys.values), [](std::uint16_t pkey) { return (pkey & 0x7fffU) != 0; });
    if (pkeys.values.size() == before) break;
  }
  std::ranges::sort(pkeys.values);
  co_return pkeys;
}

/// Whether a MGID is that of a broadcast group of IPoIB for IPv4: ff1S:401b:PKEY::ffff:ffff (RFC 4391, 4).
bool is_broadcast(const Gid& mgid) {
  constexpr std::uint64_t all_but_scope_and_pkey = 0xfff0ffff0000ffff, ipv4_signature = 0xff10401b00000000;
  return (mgid.prefix().value & all_but_scope_and_pkey) == ipv4_signature && mgid.guid().value == 0xffffffff;
}

async::Task<> read_once(Stack& stack, GroupRecords& known) {
  if (std::exchange(known.has_read, true)) co_return;
  known.records = co_await read_group_records(stack, known.why);
}

/// Marks Source::routes as not read, but for a part. A reason that it has already stays.
void not_read_partly(Input& input, std::string reason) {
  if (input.source(Source::routes).state == CheckState::done) input.not_read(Source::routes, std::move(reason), true);
}

async::Task<> read_lane_tables(Stack& stack, Fabric& fabric, RouteTables& tables, std::vector<routing::WantedLanes> ports) {
  subnet::Failures failures = co_await read_lanes(stack, tables.network, std::move(ports), tables.lanes);
  add_failures(stack.host(), fabric, std::move(failures));
}

/// Reads the forwarding tables of all switches. Returns false if no table is whole.
async::Task<bool> read_forwarding_tables(Stack& stack, Fabric& fabric, RouteTables& tables, Input& input) {
  const subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  const std::vector<routing::SwitchIndex> all = routing::all_switches(tables.network);
  const routing::TablesToRead to{.linear = &tables.linear, .multicast = tables.has_multicast ? &tables.multicast : nullptr};
  std::vector<routing::SwitchIndex> switches = all;
  subnet::Failures failures = co_await routing::read_tables(stack.transactor(), tables.network, std::move(switches), to, options);
  tables.multicast.finish();
  const auto is_known = [&tables](routing::SwitchIndex at) { return tables.linear.is_known(at) || tables.multicast.is_known(at); };
  const bool any = failures.size() < all.size() || std::ranges::any_of(all, is_known);
  if (!failures.empty()) {
    input.not_read(Source::routes, "not all forwarding tables were read", any);
  }
  add_failures(stack.host(), fabric, std::move(failures));
  co_return any;
}

constexpr std::size_t blocks_at_once = 32;

class BlockReader {
 public:
  BlockReader(Stack& stack, const routing::Network& network) : stack_(stack), network_(network) {}

  async::Task<> read(TableBlock wanted) {
    const subnet::NodeIndex node = network_.switches()[wanted.first].node;
    const path::Path path = subnet::smp_path(network_.subnet(), node, stack_.here());
    const mad::Result<smp::LinearForwardingTable> answer =
        co_await stack_.transactor().try_subn_get<smp::LinearForwardingTable>(path, wanted.second);
    if (answer) blocks_.emplace(wanted, answer->port_block);
  }

  std::optional<std::uint8_t> out_port(routing::SwitchIndex at, Lid lid) const {
    const subnet::Node& node = network_.subnet().node(network_.switches()[at].node);
    if (node.has_switch_info && lid.value > node.switch_info().linear_fdb_top) return subnet::no_out_port;
    constexpr unsigned per_block = routing::LinearTables::per_block;
    const auto block = blocks_.find({at, static_cast<std::uint16_t>(lid.value / per_block)});
    if (block == blocks_.end()) return std::nullopt;
    return block->second[lid.value % per_block];
  }

 private:
  Stack& stack_;
  const routing::Network& network_;
  std::map<TableBlock, decltype(smp::LinearForwardingTable::port_block)> blocks_;
};

}  // namespace

async::Task<> read_pkeys(Stack& stack, Fabric& fabric, Input& input) {
  if (lacks_part(stack.host(), "pkeys", Source::pkeys, "P_Keys", input)) co_return;
  subnet::Failures failures = co_await survey_pkeys(stack.transactor(), stack.here(), input);
  add_failures(stack.host(), fabric, std::move(failures));
}

async::Task<subnet::Failures> survey_pkeys(mad::Transactor& transactor, path::Path start, Input& input) {
  const subnet::Subnet& subnet = input.subnet;
  const subnet::SurveyOptions options(std::move(start), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<Pkeys> question = [&](subnet::SurveyPort port) {
    const subnet::Node& node = subnet.node(subnet.port(port.index).node);
    const std::size_t capacity = subnet::pkey_capacity(node.info, node.switch_info(), port.number);
    path::Path path = subnet::sma_path(subnet, port.index, options.start);
    return request_pkeys(port, std::move(path), node.kind() == NodeKind::sw ? port.number : 0, capacity);
  };
  std::vector<PortIndex> ports = ports_with_pkeys(subnet);
  input.pkey_ports = ports;
  subnet::Surveyed<Pkeys> surveyed = co_await subnet::survey<Pkeys>(transactor, subnet, std::move(ports), options, question);
  bool are_all = surveyed.failures.empty();
  for (auto& row : surveyed.rows) {
    if (row.value && row.value->is_whole) input.pkeys.emplace(row.port, std::move(row.value->values));
    are_all = are_all && row.value && row.value->is_whole;
  }
  if (!are_all) input.not_read(Source::pkeys, "not all P_Key tables were read, or some were too long", !input.pkeys.empty());
  co_return std::move(surveyed.failures);
}

async::Task<> read_broadcast_groups(Stack& stack, bool is_sa_silent, GroupRecords& known, Input& input) {
  if (lacks_part(stack.host(), "sa", Source::groups, "tables of the subnet administrator", input)) co_return;
  if (is_sa_silent) {
    input.not_read(Source::groups, "the subnet administrator does not answer");
    co_return;
  }
  co_await read_once(stack, known);
  if (const std::string& why = known.why; !why.empty()) {
    why == subnet::no_sa_is_known ? input.skip(Source::groups, why) : input.not_read(Source::groups, why);
    co_return;
  }
  std::map<Gid, BroadcastGroup> groups;
  bool has_members = false;
  for (const sa::MCMemberRecord& record : known.records) {
    if (!is_broadcast(record.mgid)) continue;
    BroadcastGroup& group = groups[record.mgid];
    group.mgid = record.mgid;
    group.rate = record.rate;
    const PortIndex port = input.subnet.find_port(record.port_gid.guid());
    has_members = has_members || record.port_gid != Gid{};
    if (port != subnet::none) group.members.push_back(port);
  }
  if (!groups.empty() && !has_members)
    input.skip(Source::groups, "the subnet administrator names no members of groups: it wants its SM_Key");
  for (auto& [mgid, group] : groups) input.groups.push_back(std::move(group));
}

async::Task<> read_routes(Stack& stack, Fabric& fabric, const HealthRequest& wanted, bool is_sa_silent, GroupRecords& known, Input& input) {
  const bool is_file = stack.host().options().from.has_value();
  if (!wanted.routes && !is_file) input.skip(Source::routes, "needs --routes");
  if (!wanted.routes && (!is_file || lacks_part(stack.host(), "lft", Source::routes, "forwarding tables", input))) co_return;
  const auto has = [&stack, is_file](std::string_view part) { return !is_file || stack.host().stored().has_part(part); };
  RouteTables tables(fabric.subnet);
  tables.has_multicast = has("mft");
  const bool has_any = co_await read_forwarding_tables(stack, fabric, tables, input);
  if (!has_any) co_return;
  if (tables.has_multicast && has("sa") && !is_sa_silent) {
    co_await read_once(stack, known);
    for (const sa::MCMemberRecord& record : known.records) tables.groups.add(tables.network, record);
  }
  routing::ReadLanes lanes = [&](std::vector<routing::WantedLanes> ports) {
    return read_lane_tables(stack, fabric, tables, std::move(ports));
  };
  if (!has("sl2vl")) lanes = nullptr;
  const routing::Pause others = [&stack](std::size_t done, std::size_t of, std::string_view units) {
    return stack.progress().pause(done, of, units);
  };
  RouteAnalysis analysis = co_await analyse_routes(tables, lanes, others);
  input.route_findings = std::move(analysis.findings);
  if (analysis.lacks_lanes)
    not_read_partly(input, "ports can wait for each other in a circle, and not all SLtoVL mapping tables were read");
  if (wanted.routes && !tables.has_multicast)
    not_read_partly(input, fmt::format("{} has no multicast tables", stack.host().stored().subject()));
}

async::Task<> trace_lost_requests(Stack& stack, const Fabric& fabric, Input& input) {
  const std::vector<LostRequest> requests = lost_requests(input);
  if (requests.empty() || fabric.subnet.start == subnet::none) co_return;
  const routing::Network network(fabric.subnet);
  BlockReader reader(stack, network);
  const routing::FindOutPort find = [&reader](routing::SwitchIndex at, Lid lid) { return reader.out_port(at, lid); };
  const auto read = [&reader](const TableBlock& block) { return reader.read(block); };
  std::set<TableBlock> requested;
  while (true) {
    std::vector<TableBlock> blocks;
    for (const TableBlock& block : judge_ways(network, find, requests, input)) {
      if (requested.insert(block).second) blocks.push_back(block);
    }
    if (blocks.empty()) co_return;
    co_await async::for_each(blocks, blocks_at_once, read);
  }
}

}  // namespace ib::tools::health
