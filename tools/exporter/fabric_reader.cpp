// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/fabric_reader.hpp"

#include <algorithm>
#include <utility>

#include "counters/readings.hpp"
#include "metrics/counter_round.hpp"
#include "subnet/discovery.hpp"
#include "subnet/survey.hpp"

namespace ib::tools::exporter {
namespace {

using metrics::PortStates;
using metrics::SweptFabric;
using subnet::PortIndex;

constexpr unsigned usual_retries = 2;  // a node that falls silent shall cost less than an interval
constexpr std::chrono::seconds state_patience{1};
constexpr std::uint32_t is_sm = 1U << 1;  // PortInfo.CapabilityMask (IBA 14.2.5.6)

/// The path to begin at. What the user says of retries wins.
path::Path start_of(Stack& stack) {
  path::Path start = stack.here();
  if (!stack.host().options().retries) start.ib().retries = usual_retries;
  return start;
}

PortStates::State state_of(const smp::PortInfo& info) {
  return {static_cast<std::uint8_t>(info.port_state), static_cast<std::uint8_t>(info.port_physical_state)};
}

}  // namespace

FabricReader::FabricReader(Stack& stack, std::shared_ptr<SweptFabric> fabric, path::Path start, const ReaderOptions& options)
    : stack_(stack),
      fabric_(std::move(fabric)),
      start_(std::move(start)),
      hcas_(options.hcas),
      details_(options.details),
      paths_(fabric_->subnet, start_) {}

async::Task<std::shared_ptr<FabricReader>> FabricReader::sweep(Stack& stack, const ReaderOptions& options,
                                                               std::shared_ptr<const SweptFabric> before) {
  const async::Time begun = stack.loop().now();
  const path::Path start = start_of(stack);
  auto fabric = std::make_shared<SweptFabric>();
  subnet::DiscoverOptions discovery;
  discovery.needs.switch_infos = false;
  discovery.mlnx_extended_port_info = stack.host().options().mlnx_extended_port_info;
  subnet::Discovered found = co_await subnet::discover(stack.lowest_transactor(), fabric->subnet, start, discovery);
  fabric->failures = std::move(found.failures);
  fabric->names = options.names;
  fabric->list_devices();
  auto reader = std::make_shared<FabricReader>(stack, fabric, start, options);
  co_await stack.read_service_levels(reader->paths_);
  fabric->time = stack.loop().clock().wall_time();
  fabric->took = stack.loop().now() - begun;
  if (before) fabric->remember(*before);
  co_return reader;
}

async::Task<std::shared_ptr<const metrics::Reading>> FabricReader::read(std::shared_ptr<const PortStates> states) {
  const async::Time begun = stack_.loop().now();
  metrics::CounterRound round(stack_.loop(), fabric_, std::move(states), hcas_, details_, supports_);
  counters::PmaWanted wanted = round.wanted();
  subnet::SurveyOptions options(start_);
  options.paths = &paths_;
  std::vector<subnet::NodeIndex> nodes = round.nodes();
  co_await counters::read_pmas(stack_.transactor(), fabric_->subnet, std::move(nodes), std::move(wanted), options);
  std::shared_ptr<metrics::Reading> reading = round.take();
  reading->time = stack_.loop().clock().wall_time();
  reading->took = stack_.loop().now() - begun;
  co_return reading;
}

/// The path at which a poll begins: it has less patience than a reading, for the next one is near.
path::Path FabricReader::polling_start() const {
  path::Path start = start_;
  if (!stack_.host().options().timeout) start.ib().timeout = state_patience;
  if (!stack_.host().options().retries) start.ib().retries = 1;
  return start;
}

async::Task<std::shared_ptr<const PortStates>> FabricReader::read_states() {
  const subnet::Subnet& subnet = fabric_->subnet;
  auto states = std::make_shared<PortStates>(subnet);
  std::vector<PortIndex> ports;
  for (const metrics::Device& device : fabric_->switches) {
    for (unsigned number = 1; number < subnet.node(device.node).slots; ++number) {
      ports.push_back(device.port + number);
      states->set(ports.back(), {});
    }
  }
  const subnet::SurveyOptions options(polling_start(), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<PortStates::State> ask = [](subnet::SurveyPort port) -> async::Task<mad::Result<PortStates::State>> {
    const mad::Result<smp::PortInfo> info = co_await port.transactor.try_subn_get<smp::PortInfo>(port.path, port.number);
    if (!info) co_return info.shared_error();
    co_return state_of(*info);
  };
  const auto found = co_await subnet::survey<PortStates::State>(stack_.smp_transactor(), subnet, std::move(ports), options, ask);
  for (const auto& row : found.rows) {
    if (row.value) states->set(row.port, *row.value);
  }
  co_return states;
}

async::Task<std::shared_ptr<const metrics::Managers>> FabricReader::read_managers() {
  const subnet::Subnet& subnet = fabric_->subnet;
  std::vector<PortIndex> ports;
  for (const auto* devices : {&fabric_->switches, &fabric_->hcas}) {
    for (const metrics::Device& device : *devices) {
      if ((subnet.port(device.port).info().capability_mask & is_sm) != 0) ports.push_back(device.port);
    }
  }
  const subnet::SurveyQuestion<smp::SMInfo> ask = [](subnet::SurveyPort port) {
    return port.transactor.try_subn_get<smp::SMInfo>(port.path);
  };
  const subnet::SurveyOptions options(polling_start(), subnet::SurveyWay::smp);
  const auto found = co_await subnet::survey<smp::SMInfo>(stack_.smp_transactor(), subnet, std::move(ports), options, ask);
  auto managers = std::make_shared<metrics::Managers>();
  for (const auto& row : found.rows) {
    if (!row.value) continue;
    managers->push_back({row.port, static_cast<std::uint8_t>(row.value->sm_state), static_cast<std::uint8_t>(row.value->priority)});
  }
  co_return managers;
}

}  // namespace ib::tools::exporter
