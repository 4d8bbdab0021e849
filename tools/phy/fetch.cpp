// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "async/signals.hpp"
#include "base/escape.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

bool is_any_read(const phy::Reading& found, phy::ReadingScope wanted) {
  return std::ranges::any_of(found.devices, [wanted](const phy::DeviceRow& row) {
    return wanted == phy::ReadingScope::nothing ? row.firmware.has_value() : row.state == phy::DeviceState::read;
  });
}

/// Says which devices were not read, and what was seen of them.
void note_unread(const Host& host, const std::vector<phy::DeviceRow>& devices) {
  for (const auto& [state, why] : {std::pair{phy::DeviceState::other_vendor, "they are not NVIDIA's"},
                                   {phy::DeviceState::no_registers, "their GeneralInfo does not list AccessRegister"},
                                   {phy::DeviceState::refused, "they refuse GeneralInfo"}}) {
    const auto unread = std::ranges::count(devices, state, &phy::DeviceRow::state);
    if (unread != 0) host.note(fmt::format("Registers of {} of {} devices are not read: {}", unread, devices.size(), why));
  }
}

/// Says what stands in registers where a value is not known because it cannot be.
void note_impossible(const Host& host, const Fabric& fabric, const phy::Reading& found) {
  const auto note = [&host](const std::string& where, const std::vector<phy::ImpossibleValue>& values) {
    for (const phy::ImpossibleValue& of : values)
      host.log().debug(fmt::format("{}: {} is not known: the register has {}, {}", where, of.key, of.bytes, of.why));
  };
  const auto name = [&fabric](NodeIndex node) {
    return in_quotes(subnet::name_of(fabric.subnet.node(node), &fabric.names)) + subnet::twin_mark(fabric.subnet, node);
  };
  for (const phy::PortRow& row : found.ports) {
    const subnet::Port& port = fabric.subnet.port(row.port);
    const std::string plane = row.plane != 0 ? fmt::format(" plane {}", row.plane) : std::string();
    note(fmt::format("{} port {}{}", name(port.node), port.number, plane), phy::impossible_values(row));
  }
  for (const phy::EnvironmentRow& row : found.environments) note(name(row.node), phy::impossible_values(row));
}

}  // namespace

mad::Transactor& PhyCommand::transactor(Session& session) {
  return log_ ? log_->on(session.stack().transactor()) : session.stack().transactor();
}

/// The nodes of the targets; of all nodes where there is none. Around a single node nothing else is discovered.
async::Task<std::vector<ChosenNode>> PhyCommand::find_targets(Session& session) {
  std::vector<ChosenNode> chosen;
  if (targets_.size() == 1 && targets_.front().target.path) {
    const NodeIndex node = co_await discover_around(session, discovery_, targets_.front().target, fabric_);
    chosen.push_back({node, targets_.front().target.text(), targets_.front().port});
    co_return chosen;
  }
  fabric_ = co_await discover(session, discovery_);
  co_return chosen_nodes(fabric_, targets_);
}

/// Adds the ports of a node that are read, each once. Throws Error for a port that the node does not have.
void PhyCommand::add_ports(const ChosenNode& chosen) {
  const unsigned slots = fabric_.subnet.node(chosen.node).slots;
  if (chosen.port && (*chosen.port == 0 || *chosen.port >= slots)) {
    throw Error(fmt::format("{} has no port {}: its ports are 1 to {}", in_quotes(chosen.word), *chosen.port, slots == 0 ? 0 : slots - 1));
  }
  for (unsigned number = 1; number < slots; ++number) {
    const PortIndex port = fabric_.subnet.port_of(chosen.node, number);
    const bool is_chosen = chosen.port ? number == *chosen.port : is_wanted(fabric_.subnet, port);
    const bool may_be_there = !targets_.empty();
    if (is_chosen && !(may_be_there && std::ranges::find(ports_, port) != ports_.end())) ports_.push_back(port);
  }
}

/// Discovers the fabric, and finds the ports to read. Throws Error for a port that its node does not have.
async::Task<> PhyCommand::discover_ports(Session& session) {
  const std::vector<ChosenNode> chosen = co_await find_targets(session);
  const subnet::Subnet& subnet = fabric_.subnet;
  std::vector<NodeIndex> nodes;
  for (const ChosenNode& one : chosen) {
    nodes.push_back(one.node);
    add_ports(one);
  }
  if (reads_planes_) {
    const bool is_whole =
        targets_.size() != 1 || subnet.start == subnet::none || subnet.port_guid(subnet.start) == session.host().end_port().port_guid();
    const path::Path* target = is_whole ? nullptr : &*targets_.front().target.path;
    planes_ = co_await phy::read_planes(transactor(session), subnet, co_await session.stack().smp_path(target), nodes);
    add_failures(session.host(), fabric_, std::move(planes_.failures));
  }
  subnet::PortPaths& paths = paths_.emplace(subnet, session.stack().here());
  if (!session.host().options().skip_sl) co_await session.stack().read_service_levels(paths);
}

phy::ReadingOptions PhyCommand::reading_options(Session& session) {
  phy::ReadingOptions options = tools::reading_options(session.stack(), *paths_, vs_keys_, reading_);
  options.planes = &planes_;
  options.silent = &silent_;
  const std::string_view what = reading_.wanted == phy::ReadingScope::ports ? "ports" : "devices";
  options.progress = [&session, what](std::size_t done, std::size_t of) { session.stack().progress().count(done, of, what); };
  return options;
}

void PhyCommand::finish_reading(Host& host, phy::Reading& found) {
  require_read(is_any_read(found, reading_.wanted), found.failures);
  note_unread(host, found.devices);
  if (host.options().error_level() >= 1) note_impossible(host, fabric_, found);
  add_failures(host, fabric_, std::move(found.failures));
}

async::Task<phy::Reading> PhyCommand::read_ports(Session& session) {
  phy::Reading found = co_await phy::read_phy(transactor(session), fabric_.subnet, ports_, reading_options(session));
  finish_reading(session.host(), found);
  co_return found;
}

async::Task<> PhyCommand::read(Session& session, Emit& emit) {
  phy::Reading found;
  async::Task<> reading = phy::read_phy_into(found, transactor(session), fabric_.subnet, ports_, reading_options(session));
  async::Interrupt interrupt(session.stack().loop());
  const bool is_whole = co_await async::until_interrupted(session.stack().loop(), interrupt, std::move(reading));
  subnet::sort(found.failures, fabric_.subnet);
  finish_reading(session.host(), found);
  if (!is_whole) {
    const std::string why = "Interrupted: registers that were not read yet are missing.";
    add_failures(session.host(), fabric_, {{.kind = subnet::Failure::Kind::not_read, .attribute = {}, .why = why, .error = {}}});
  }
  show(session.host(), emit, found);
}

void PhyCommand::add_options(OptionSet& set, CommonOptions& common, std::vector<std::string> keys) {
  set.optional_operands();
  set.target_patterns("TARGET", targets_);
  set.number("--rate", reading_.per_second, "N", "Send at most this many requests a second; 2000 by default.", {.low = 1, .high = 1000000});
  add_vs_keys(set, vs_keys_file_);
  add_discovery(set, discovery_);
  add_table_options(set, common, shown_, std::move(keys));
  add_common(set, common, group_target | group_sl);
}

async::Task<> PhyCommand::run(Session& session, Emit& emit) {
  prepare(session.host());
  vs_keys_ = read_vs_keys(session.host(), vs_keys_file_);
  if (raw_) {
    log_.emplace(*raw_, session.stack().loop());
    discovery_.through = [this](mad::Transactor& below) -> mad::Transactor& { return log_->on(below); };
  }
  co_await discover_ports(session);
  co_await read(session, emit);
  constexpr std::string_view heading =
      "# ibtool phy --raw: requests (>) and their answers (<, ! for none), with milliseconds.\n"
      "# GUIDs, GIDs, node descriptions and serial numbers are made up, keys are zero.\n";
  if (log_) log_->write(heading, fabric_.subnet);
}

report::Cell node_name_cell(const Fabric& fabric, NodeIndex node) {
  const subnet::Node& of = fabric.subnet.node(node);
  return report::text_cell(std::string(subnet::name_of(of, &fabric.names)));
}

report::Cell node_guid_cell(const Fabric& fabric, NodeIndex node) { return fabric.subnet.node(node).guid(); }

report::Cell port_label_cell(const Fabric& fabric, PortIndex port) { return report::text_cell(subnet::port_label(fabric.subnet, port)); }

}  // namespace ib::tools
