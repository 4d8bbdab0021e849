// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// P_Key tables, multicast groups, forwarding tables; and the few blocks of these on the ways of requests that were not answered.
// SMInfo of the subnet managers that are known: by IsSM, by the SM LID of our own port, by the SA's records. A manager may refuse SMInfo to
// a requester without its SM_Key. That is not a fault of the node, and is reported as not read.
#include <fmt/format.h>

#include <algorithm>

#include "async/group.hpp"
#include "health/routes.hpp"
#include "sa/records.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/health/fetch.hpp"

namespace ib::tools::health {
namespace {

EarlierManagers earlier_of(const subnet::SurveyedManagers& found, const Subnet& subnet, async::Time time) {
  EarlierManagers earlier;
  earlier.time = time;
  std::set<Guid> known, twins;
  for (const auto& row : found.rows) {
    const Guid guid = subnet.port_guid(row.port);
    if (!known.insert(guid).second) twins.insert(guid);
    if (row.value) earlier.act_counts[guid] = row.value->act_count;
  }
  for (const Guid twin : twins) earlier.act_counts.erase(twin);  // it is not known whose count it is
  return earlier;
}

/// The subnet managers in the SA's records, by LID. Nothing if it does not give them; `is_silent` says whether it did not answer at all.
async::Task<std::map<Lid, smp::SMInfo>> read_records(Stack& stack, bool& is_silent) {
  std::map<Lid, smp::SMInfo> records;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  if (!transactor.knows_sa()) co_return records;
  const sa::SMInfoRecord::Query all;
  async::Task<mad::Result<sa::Table<sa::SMInfoRecord>>> query = sa::try_subn_adm_get_table(transactor, all);
  sa::Table<sa::SMInfoRecord> table;
  const std::shared_ptr<const Error> error = co_await sa::store_answer(std::move(query), table);
  is_silent = error && subnet::kind_of(*error) == subnet::Failure::Kind::no_answer;
  for (const sa::SMInfoRecord& record : table.records) records.emplace(record.lid, record.sm_info);
  co_return records;
}

/// SMInfo of the subnet manager at the SM LID of our own port, which no port of the model has.
async::Task<bool> answers_elsewhere(Stack& stack, const Subnet& subnet) {
  const Lid lid = own_sm_lid(subnet);
  if (stack.host().options().from || !lid.is_unicast() || subnet.find_lid(lid) != subnet::none) co_return false;
  const mad::Result<smp::SMInfo> answer = co_await stack.transactor().try_subn_get<smp::SMInfo>(stack.smp_path_to(lid));
  co_return static_cast<bool>(answer);
}

void compare(HealthRun& run, const std::optional<EarlierManagers>& earlier) {
  const bool is_stored = earlier && run.stack.host().options().from;
  const async::Time now = is_stored ? time_of(run.stack.host().stored(), run.stack.loop()) : run.stack.loop().now();
  if (!earlier || now - earlier->time < least_window) {
    run.input.skip(Source::activity, fmt::format("needs a window of {} s", least_window.count()));
    return;
  }
  const auto guid_of = [&run](const Manager& manager) { return run.input.subnet.port_guid(manager.port); };
  for (Manager& manager : run.input.managers) {
    const auto before = earlier->act_counts.find(guid_of(manager));
    if (before == earlier->act_counts.end() || std::ranges::count(run.input.managers, before->first, guid_of) > 1) continue;
    manager.act_count_before = before->second;
    manager.own_requests = earlier->own_requests;
  }
}

struct Pkeys {
  std::vector<std::uint16_t> values;
  bool is_whole = true;  ///< false: there are more than are requested
};

constexpr std::size_t pkeys_per_block = 32;  // IBA 14.2.5.7
constexpr std::size_t most_blocks = 8;       // of a port; a node may claim 2048 and fill them all

bool is_host_port(const Subnet& subnet, PortIndex at) {
  const subnet::Port& port = subnet.port(at);
  return subnet.node(port.node).kind() != NodeKind::sw && subnet::is_link_active(port);
}

/// End ports that are in use, subnet managers on switches, and switch ports that let nothing pass to hosts but what their table holds.
std::vector<PortIndex> ports_with_pkeys(const Subnet& subnet) {
  return subnet.ports_where([&subnet](PortIndex at) {
    const subnet::Port& port = subnet.port(at);
    const bool is_switch = subnet.node(port.node).kind() == NodeKind::sw;
    const smp::PortInfo info = port.info();
    const bool enforces = info.partition_enforcement_inbound != 0 || info.partition_enforcement_outbound != 0;
    const bool manages = port.number == 0 && subnet::has_is_sm(info);
    const bool is_gate = port.number != 0 && port.peer != subnet::none && is_host_port(subnet, port.peer) && enforces;
    return is_switch ? manages || is_gate : is_host_port(subnet, at);
  });
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

/// Whether a MGID is of a broadcast group of IPoIB for IPv4: ff1S:401b:PKEY::ffff:ffff (RFC 4391, 4).
bool is_broadcast(const Gid& mgid) {
  constexpr std::uint64_t all_but_scope_and_pkey = 0xfff0ffff0000ffff, ipv4_signature = 0xff10401b00000000;
  return (mgid.prefix().value & all_but_scope_and_pkey) == ipv4_signature && mgid.guid().value == 0xffffffff;
}

async::Task<> read_once(HealthRun& run) {
  if (run.groups) co_return;
  co_await run.stack.prepare_sa();
  run.groups.emplace();
  run.groups->records = co_await routing::read_group_records(run.stack.transactor(), run.groups->why);
}

/// Marks Source::routes as not read, but for a part. A reason that it has already stays.
void not_read_partly(Input& input, std::string reason) {
  if (input.source(Source::routes).state == CheckState::done) input.not_read(Source::routes, std::move(reason), true);
}

async::Task<> read_lane_tables(HealthRun& run, RouteTables& tables, std::vector<routing::WantedLanes> ports) {
  subnet::SurveyOptions options = port_survey(run.stack, subnet::SurveyWay::smp);
  subnet::Failures failures =
      co_await routing::read_lanes(run.stack.transactor(), tables.network, std::move(ports), tables.lanes, std::move(options));
  add_failures(run.stack.host(), run.fabric, std::move(failures));
}

async::Task<bool> read_forwarding_tables(HealthRun& run, RouteTables& tables) {
  const routing::TablesToRead to{.linear = &tables.linear, .multicast = tables.has_multicast ? &tables.multicast : nullptr};
  subnet::Failures failures = co_await routing::read_tables(run.stack.transactor(), tables.network, to, run.stack.here());
  tables.multicast.finish();
  const bool any = failures.size() < tables.network.switches().size() || tables.has_any();
  if (!failures.empty()) {
    run.input.not_read(Source::routes, "not all forwarding tables were read", any);
  }
  add_failures(run.stack.host(), run.fabric, std::move(failures));
  co_return any;
}

constexpr std::size_t blocks_at_once = 32;

class BlockReader {
 public:
  BlockReader(Stack& stack, const routing::Network& network) : stack_(stack), network_(network) {}

  async::Task<> read(TableBlock wanted) {
    const NodeIndex node = network_.switches()[wanted.first].node;
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

void ManagerHistory::add(EarlierManagers now) {
  while (rounds_.size() > 1 && now.time - rounds_[1].time >= least_window) rounds_.pop_front();
  for (EarlierManagers& earlier : rounds_) ++earlier.own_requests;
  rounds_.push_back(std::move(now));
}

std::optional<EarlierManagers> ManagerHistory::before(async::Time now) const {
  if (rounds_.empty()) return std::nullopt;
  const auto is_long_ago = [now](const EarlierManagers& round) { return now - round.time >= least_window; };
  const auto last = std::ranges::find_if(rounds_.rbegin(), rounds_.rend(), is_long_ago);
  return last == rounds_.rend() ? rounds_.front() : *last;
}

async::Task<EarlierManagers> managers_now(Stack& stack, const Fabric& fabric) {
  std::vector<PortIndex> ports = subnet::ports_with_manager(fabric.subnet);
  const auto found = co_await subnet::survey_managers(stack.transactor(), fabric.subnet, std::move(ports), stack.here());
  co_return earlier_of(found, fabric.subnet, stack.loop().now());
}

async::Task<std::optional<EarlierManagers>> managers_in_file(Stack& stack, const std::string& file) {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  if (!stored->has_part("sminfo")) co_return std::nullopt;
  snapshot::SnapshotTransactor transactor(*stored);
  path::Path start = path::IbDrPath(&stored->end_port());
  std::vector<PortIndex> ports = subnet::ports_with_manager(transactor.subnet());
  const auto found = co_await subnet::survey_managers(transactor, transactor.subnet(), std::move(ports), std::move(start));
  co_return earlier_of(found, transactor.subnet(), time_of(*stored, stack.loop()));
}

async::Task<EarlierManagers> read_managers(HealthRun& run, const std::optional<EarlierManagers>& earlier) {
  if (lacks_part(run, "sminfo", Source::activity, "SMInfo") && lacks_part(run, "sminfo", Source::managers, "SMInfo"))
    co_return EarlierManagers();
  run.input.is_sa_silent = run.paths.is_sa_silent();
  std::map<Lid, smp::SMInfo> records;
  if (!run.paths.is_sa_silent()) records = co_await read_records(run.stack, run.input.is_sa_silent);
  std::vector<PortIndex> ports = subnet::ports_with_manager(run.fabric.subnet);
  for (const auto& [lid, info] : records) {
    const PortIndex port = lid.is_unicast() ? run.fabric.subnet.find_lid(lid) : subnet::none;
    if (port != subnet::none && std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  const auto found = co_await subnet::survey_managers(run.stack.transactor(), run.fabric.subnet, std::move(ports), run.stack.here());
  take_managers(found, records, run.input);
  if (run.input.managers.empty() && run.input.silent_managers == 0)
    run.input.has_manager_elsewhere = co_await answers_elsewhere(run.stack, run.fabric.subnet);
  if (run.input.silent_managers == 0 || !run.input.managers.empty()) compare(run, earlier);
  co_return earlier_of(found, run.fabric.subnet, run.stack.loop().now());
}

async::Task<> read_pkeys(HealthRun& run) {
  if (lacks_part(run, "pkeys", Source::pkeys, "P_Keys")) co_return;
  subnet::Failures failures = co_await survey_pkeys(run.stack.transactor(), run.stack.here(), run.input);
  add_failures(run.stack.host(), run.fabric, std::move(failures));
}

async::Task<subnet::Failures> survey_pkeys(mad::Transactor& transactor, path::Path start, Input& input) {
  const Subnet& subnet = input.subnet;
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

async::Task<> read_broadcast_groups(HealthRun& run) {
  if (lacks_part(run, "sa", Source::groups, "tables of the subnet administrator")) co_return;
  if (run.paths.is_sa_silent()) {
    run.input.not_read(Source::groups, "the subnet administrator does not answer");
    co_return;
  }
  co_await read_once(run);
  if (const std::string& why = run.groups->why; !why.empty()) {
    why == mad::no_sa_is_known ? run.input.skip(Source::groups, why) : run.input.not_read(Source::groups, why);
    co_return;
  }
  std::map<Gid, BroadcastGroup> groups;
  bool has_members = false;
  for (const sa::MCMemberRecord& record : run.groups->records) {
    if (!is_broadcast(record.mgid)) continue;
    BroadcastGroup& group = groups[record.mgid];
    group.mgid = record.mgid;
    group.rate = record.rate;
    const PortIndex port = run.input.subnet.find_port(record.port_gid.guid());
    has_members = has_members || record.port_gid != Gid{};
    if (port != subnet::none) group.members.push_back(port);
  }
  if (!groups.empty() && !has_members)
    run.input.skip(Source::groups, "the subnet administrator names no members of groups: it wants its SM_Key");
  for (auto& [mgid, group] : groups) run.input.groups.push_back(std::move(group));
}

async::Task<> read_routes(HealthRun& run) {
  const bool is_file = run.stack.host().options().from.has_value();
  if (!run.wanted.routes && !is_file) run.input.skip(Source::routes, "needs --routes");
  if (!run.wanted.routes && (!is_file || lacks_part(run, "lft", Source::routes, "forwarding tables"))) co_return;
  const auto has = [&run, is_file](std::string_view part) { return !is_file || run.stack.host().stored().has_part(part); };
  RouteTables tables(run.fabric.subnet);
  tables.has_multicast = has("mft");
  const bool has_any = co_await read_forwarding_tables(run, tables);
  if (!has_any) co_return;
  if (tables.has_multicast && has("sa") && !run.paths.is_sa_silent()) {
    co_await read_once(run);
    for (const sa::MCMemberRecord& record : run.groups->records) tables.groups.add(tables.network, record);
  }
  routing::ReadLanes lanes = [&](std::vector<routing::WantedLanes> ports) { return read_lane_tables(run, tables, std::move(ports)); };
  if (!has("sl2vl")) lanes = nullptr;
  const routing::Pause others = [&run](std::size_t done, std::size_t of, std::string_view units) {
    return run.stack.progress().pause(done, of, units);
  };
  RouteAnalysis analysis = co_await analyse_routes(tables, lanes, others);
  run.input.route_findings = std::move(analysis.findings);
  if (analysis.lacks_lanes)
    not_read_partly(run.input, "ports can wait for each other in a circle, and not all SLtoVL mapping tables were read");
  if (run.wanted.routes && !tables.has_multicast)
    not_read_partly(run.input, fmt::format("{} has no multicast tables", run.stack.host().stored().subject()));
}

async::Task<> trace_lost_requests(HealthRun& run) {
  const std::vector<LostRequest> requests = lost_requests(run.input);
  if (requests.empty() || run.fabric.subnet.start == subnet::none) co_return;
  const routing::Network network(run.fabric.subnet);
  BlockReader reader(run.stack, network);
  const routing::FindOutPort find = [&reader](routing::SwitchIndex at, Lid lid) { return reader.out_port(at, lid); };
  const auto read = [&reader](const TableBlock& block) { return reader.read(block); };
  std::set<TableBlock> requested;
  while (true) {
    std::vector<TableBlock> blocks;
    for (const TableBlock& block : judge_ways(network, find, requests, run.input)) {
      if (requested.insert(block).second) blocks.push_back(block);
    }
    if (blocks.empty()) co_return;
    co_await async::for_each(blocks, blocks_at_once, read);
  }
}

}  // namespace ib::tools::health
