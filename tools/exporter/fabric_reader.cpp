// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/engine.hpp"

#include "async/group.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/model/rate.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/discovery.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/common_options.hpp"

namespace ib::tools::exporter {
namespace {

using metrics::PortStates;
using metrics::SweptFabric;

constexpr unsigned usual_retries = 2;  // a node that falls silent shall cost less than an interval
constexpr std::chrono::seconds state_patience{1};

/// The path to begin at. What the user says of retries wins.
path::Path start_of(Stack& stack) {
  path::Path start = stack.here();
  if (!stack.host().options().retries) start.ib().retries = usual_retries;
  return start;
}

constexpr std::size_t checks_at_once = 160;
constexpr unsigned readings_until_silent = 2;  // of registers

struct PolledPort {
  PortStates::State state{};
  bool has_changed{};  ///< PortStates::changed()
};

async::Task<mad::Result<PolledPort>> poll_port(const subnet::Subnet& subnet, subnet::SurveyPort port) {
  const mad::Result<smp::PortInfo> info = co_await port.transactor.try_subn_get<smp::PortInfo>(port.path, port.number);
  if (!info) co_return info.shared_error();
  PolledPort polled{{static_cast<std::uint8_t>(info->port_state), static_cast<std::uint8_t>(info->port_physical_state)}};
  const subnet::Port& swept = subnet.port(port.index);
  if (port.number == 0) {
    polled.has_changed = info->lid != subnet.lid(port.index);
  } else if (polled.state.is_link_up() && swept.is_known() && swept.peer != subnet::none) {
    polled.has_changed = subnet::active_rate(subnet, port.index, *info) != subnet::active_rate(subnet, port.index);
  }
  co_return polled;
}

}  // namespace

FabricReader::FabricReader(Stack& stack, mad::Pace* pace, std::shared_ptr<const SweptFabric> fabric, const ReaderOptions& options)
    : stack_(stack),
      lowest_(stack.lowest_transactor(), pace),
      smps_(stack.smp_transactor(), pace),
      gmps_(stack.transactor(), pace),
      urgent_smps_(stack.smp_transactor(), pace, mad::Pace::Urgency::urgent),
      fabric_(std::move(fabric)),
      start_(start_of(stack)),
      options_(options),
      paths_(fabric_->subnet, start_) {}

async::Task<std::shared_ptr<FabricReader>> FabricReader::sweep(Stack& stack, mad::Pace* pace, const ReaderOptions& options,
                                                               std::shared_ptr<const SweptFabric> before) {
  const async::Time begun = stack.loop().now();
  auto fabric = std::make_shared<SweptFabric>();
  fabric->names = options.names;
  const path::Path start = start_of(stack);
  mad::PacedTransactor lowest(stack.lowest_transactor(), pace);
  subnet::DiscoverOptions discovery;
  discovery.needs.switch_infos = false;
  discovery.mlnx_extended_port_info = stack.host().options().mlnx_extended_port_info;
  subnet::Discovered found = co_await subnet::discover(lowest, fabric->subnet, start, discovery);
  fabric->failures = std::move(found.failures);
  fabric->list_devices();
  auto reader = std::make_shared<FabricReader>(stack, pace, fabric, options);
  co_await stack.read_service_levels(reader->paths_);
  fabric->is_sa_silent = reader->paths_.is_sa_silent();
  fabric->time = stack.loop().clock().wall_time();
  fabric->took = stack.loop().now() - begun;
  if (before) fabric->remember(*before);
  co_return reader;
}

async::Task<std::shared_ptr<const metrics::Reading>> FabricReader::read(std::shared_ptr<const PortStates> states, std::set<Guid> silent) {
  metrics::CounterRound round(stack_.loop(), fabric_, std::move(states), options_.hcas, options_.details, pmas_);
  if (options_.details) {
    if (!fec_modes_) {  // once: a link that gets another FEC mode retrains, and that causes a sweep
      subnet::SurveyOptions options(polling_start(), subnet::SurveyWay::smp);
      std::vector<PortIndex> ports = subnet::ports_with_fec(fabric_->subnet);
      subnet::FecReading found = co_await subnet::read_fec_modes(smps_, fabric_->subnet, std::move(ports), std::move(options));
      fec_modes_ = std::make_shared<const subnet::FecModes>(std::move(found.modes));
    }
    round.read_fec(fec_modes_);
  }
  std::vector<NodeIndex> nodes = round.nodes();
  const auto doubtful = std::ranges::stable_partition(nodes, [&](NodeIndex node) { return !round.is_silent(node, silent); });
  {
    async::TaskGroup group(stack_.loop());
    group.spawn(read_nodes(round, {nodes.begin(), doubtful.begin()}));
    group.spawn(try_silent(round, {doubtful.begin(), doubtful.end()}));
    co_await group.join();
  }
  co_await check_devices(round);
  co_await read_ticks(round);
  std::shared_ptr<metrics::Reading> reading = round.take();
  reading->time = stack_.loop().clock().wall_time();
  reading->took = stack_.loop().now() - reading->begun;
  co_return reading;
}

async::Task<bool> FabricReader::is_at_its_place() {
  const subnet::Subnet& subnet = fabric_->subnet;
  const PortIndex peer = subnet.start == subnet::none ? subnet::none : subnet.port(subnet.start).peer;
  if (peer == subnet::none) co_return false;
  const path::Path path = subnet::smp_path(subnet, subnet.port(peer).node, polling_start());
  const mad::Result<smp::NodeInfo> info = co_await urgent_smps_.try_subn_get<smp::NodeInfo>(path);
  co_return info && info->node_guid == subnet.node(subnet.port(peer).node).guid() && info->local_port_num == subnet.port(peer).number;
}

/// The path at which a poll begins. A poll has a shorter timeout and fewer tries than a reading, because the next poll comes soon.
path::Path FabricReader::polling_start() const {
  path::Path start = start_;
  if (!stack_.host().options().timeout) start.ib().timeout = state_patience;
  if (!stack_.host().options().retries) start.ib().retries = 1;
  return start;
}

async::Task<> FabricReader::read_nodes(metrics::CounterRound& round, std::vector<NodeIndex> nodes) {
  subnet::SurveyOptions options(start_);
  options.paths = &paths_;
  counters::ReadingPlan plan = round.plan();
  counters::PmaReadings readings =
      co_await counters::read_pmas(gmps_, fabric_->subnet, std::move(nodes), std::move(plan), std::move(options));
  round.take(std::move(readings.failures));
}

/// Finds out which of `nodes` answer again, and reads these.
async::Task<> FabricReader::try_silent(metrics::CounterRound& round, std::vector<NodeIndex> nodes) {
  std::set<NodeIndex> answered;
  {
    async::TaskGroup group(stack_.loop());
    for (const NodeIndex node : nodes) group.spawn(try_node(node, round.first_port(node), answered));
    co_await group.join();
  }
  subnet::Failures failures;
  for (const NodeIndex node : nodes) {
    if (answered.contains(node)) continue;
    round.take_silent(node);
    failures.push_back({.kind = subnet::Failure::Kind::no_answer,
                        .node = node,
                        .attribute = "ClassPortInfo",
                        .why = "no answer, nor in the round before",
                        .error = {}});
  }
  round.take(std::move(failures));
  if (!answered.empty()) co_await read_nodes(round, std::vector(answered.begin(), answered.end()));
}

async::Task<> FabricReader::try_node(NodeIndex node, PortIndex port, std::set<NodeIndex>& answered) {
  std::optional<path::Path> path = paths_.gmp(port);
  if (!path) co_return;
  path->ib().retries = 0;
  const mad::Result<counters::PmaSupport> support = co_await counters::read_pma_support(gmps_, *path);
  if (!support) co_return;
  pmas_.add(fabric_->subnet, node, *support);
  answered.insert(node);
}

/// Requests how long the ticks of PortXmitWait are, of devices whose counters were read for the first time.
async::Task<> FabricReader::read_ticks(metrics::CounterRound& round) {
  std::vector<metrics::Device> devices = round.read_devices();
  std::erase_if(devices, [this](const metrics::Device& device) { return ticks_.contains(device.port); });
  const auto read = [this](const metrics::Device& device) { return read_tick(device); };
  co_await async::for_each(devices, checks_at_once, read);
  round.take_ticks(ticks_);
}

async::Task<> FabricReader::read_tick(const metrics::Device& device) {
  std::optional<path::Path> path = paths_.gmp(device.port);
  if (!path) co_return;
  path->ib().retries = 0;
  pm::PortSamplesCtl wanted;
  wanted.port_select = std::max<std::uint8_t>(fabric_->subnet.port(device.port).number, 1);
  const mad::Result<pm::PortSamplesCtl> control = co_await gmps_.try_performance_get<pm::PortSamplesCtl>(*path, 0, std::move(wanted));
  ticks_[device.port] = control ? std::optional<std::uint8_t>(control->tick) : std::nullopt;
}

/// Requests the identity of the nodes at the LIDs of this round, after all counters were read. Drops the rows of devices that did not say
/// that the LID is theirs.
async::Task<> FabricReader::check_devices(metrics::CounterRound& round) {
  const std::vector<metrics::Device> devices = round.read_devices();
  std::set<PortIndex> moved, mute;
  const auto check = [this, &moved, &mute](const metrics::Device& device) { return check_device(device, moved, mute); };
  co_await async::for_each(devices, checks_at_once, check);
  mute_ = mute;
  round.drop(moved, mute);
}

async::Task<> FabricReader::check_device(const metrics::Device& device, std::set<PortIndex>& moved, std::set<PortIndex>& mute) {
  std::optional<path::Path> path = paths_.gmp(device.port);
  if (!path) co_return;
  const path::Path start = polling_start();
  path->ib().timeout = start.ib().timeout;
  path->ib().retries = mute_.contains(device.port) ? 0 : start.ib().retries;
  const auto error = co_await counters::check_owner(smps_, *path, counters::owner_of(fabric_->subnet, device.port));
  if (!error) co_return;
  (dynamic_cast<const subnet::WrongNode*>(error.get()) != nullptr ? moved : mute).insert(device.port);
}

async::Task<std::shared_ptr<const PortStates>> FabricReader::poll() {
  const subnet::Subnet& subnet = fabric_->subnet;
  auto states = std::make_shared<PortStates>(subnet);
  std::vector<PortIndex> ports;
  for (const metrics::Device& device : fabric_->switches()) {
    ports.push_back(device.port);
    fabric_->each_port(device, [&](PortIndex port) {
      ports.push_back(port);
      states->set(port, {});
    });
  }
  const subnet::SurveyOptions options(polling_start(), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<PolledPort> poll = [&subnet](subnet::SurveyPort port) { return poll_port(subnet, port); };
  const auto found = co_await subnet::survey<PolledPort>(urgent_smps_, subnet, std::move(ports), options, poll);
  for (const auto& row : found.rows) {
    if (!row.value) continue;
    if (subnet.port(row.port).number != 0) states->set(row.port, row.value->state);
    if (row.value->has_changed) states->set_changed(row.port);
  }
  co_return states;
}

async::Task<std::shared_ptr<const phy::Reading>> FabricReader::read_phy(std::map<Guid, unsigned>& silences) {
  const subnet::Subnet& subnet = fabric_->subnet;
  std::set<NodeIndex> silent;
  for (const auto& [guid, times] : silences) {
    const NodeIndex node = subnet.find_node(guid);
    if (times >= readings_until_silent && node != subnet::none && subnet::has_own_guid(subnet, node)) silent.insert(node);
  }
  std::vector<PortIndex> ports;
  const auto take = [&](PortIndex port) {
    if (subnet.port(port).has_info && subnet::is_mellanox(subnet.node(subnet.port(port).node).info)) ports.push_back(port);
  };
  for (const metrics::Device& device : fabric_->devices) {
    if (options_.hcas || device.is_switch) fabric_->each_port(device, take);
  }
  phy::ReadingOptions options;
  options.paths = &paths_;
  options.wanted = phy::ReadingScope::ports_and_environment;
  options.histogram = options.board = true;
  options.silent = &silent;
  options.vs_keys = options_.vs_keys.get();
  options.smps = &lowest_;
  phy::Reading found = co_await phy::read_phy(gmps_, subnet, std::move(ports), std::move(options));
  for (const phy::DeviceRow& device : found.devices) {
    unsigned& times = silences[subnet.node(device.node).guid()];
    times = device.state == phy::DeviceState::silent ? times + 1 : 0;
  }
  co_return std::make_shared<const phy::Reading>(std::move(found));
}

async::Task<std::shared_ptr<const subnet::SurveyedManagers>> FabricReader::read_managers() {
  const subnet::Subnet& subnet = fabric_->subnet;
  std::vector<PortIndex> ports;
  for (const metrics::Device& device : fabric_->devices) {
    if (subnet::may_have_manager(subnet, device.port)) ports.push_back(device.port);
  }
  auto found = co_await subnet::survey_managers(urgent_smps_, subnet, std::move(ports), polling_start());
  co_return std::make_shared<const subnet::SurveyedManagers>(std::move(found));
}

}  // namespace ib::tools::exporter
