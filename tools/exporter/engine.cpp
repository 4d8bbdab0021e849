// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/engine.hpp"

#include <fmt/format.h>

#include <tuple>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/build_info.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools::exporter {
namespace {

using metrics::PortStates;
using metrics::Reading;

constexpr std::chrono::seconds reading_patience{10};

/// The end port is not the same any more: its LID, its state or its subnet manager has changed.
struct PortChanged {};

SweepCauses::Cause cause_of(const subnet::Subnet& subnet, PortIndex port) {
  return {metrics::device_guid(subnet, port), subnet.port(port).number};
}

/// The states of the subnet managers that answered.
std::vector<smp::SMState> states_of(const subnet::SurveyedManagers& managers) {
  std::vector<smp::SMState> states;
  for (const auto& row : managers.rows) {
    if (row.value) states.push_back(row.value->sm_state);
  }
  return states;
}

}  // namespace

void Engine::note(const std::string& about, const std::string& line, std::string_view well) {
  std::string& last = last_notes_[about];
  if (line == last) return;
  stack_.host().world().log->warning(prefix_ + (line.empty() ? std::string(well) : line));
  last = line;
}

Engine::Engine(Stack& stack, ReaderOptions options, Times times, std::string prefix)
    : stack_(stack),
      loop_(stack.loop()),
      options_(std::move(options)),
      times_(times),
      wake_(loop_),
      prefix_(std::move(prefix)),
      causes_(times.sweep_gap, times.sweep) {
  view_.exporter.version = version;
  if (options_.mads_per_second != 0) pace_.emplace(loop_, options_.mads_per_second, [this] { return mads_sent(); });
}

async::Task<> Engine::run_once() {
  try {
    stack_.require_link();
    co_await sweep();
    if (options_.phy) co_await read_phy(reader_);
    co_await round();
  } catch (const PortDown&) {
    forget_reading();
    report_down_port();
    throw;
  }
  view_.exporter.last_execution = loop_.clock().wall_time();
}

async::Task<> Engine::run() {
  for (;;) {
    async::Duration pause{};
    try {
      co_await live();
    } catch (const PortChanged&) {  // what is published stays until the next reading
    } catch (const Error& error) {
      lose(error);
      pause = times_.reopen;
    }
    sent_before_ = mads_sent();
    reader_.reset();
    published_reader_.reset();
    stack_.close();
    co_await loop_.sleep_for(pause);
    try {
      stack_.host().reread();
    } catch (const Error& error) {
      lose(error);
    }
  }
}

/// Reads as long as the end port stays as it is. Ends by an exception.
async::Task<> Engine::live() {
  stack_.require_link();
  stack_.open();
  if (view_
          .reading) {  // it is polled until the fabric is swept and read again, which takes long where a new subnet manager does not answer
    auto reader = std::make_shared<FabricReader>(stack_, pace_ ? &*pace_ : nullptr, view_.reading->fabric, options_);
    const bool is_same_fabric = co_await reader->is_at_its_place();
    if (is_same_fabric) published_reader_ = std::move(reader);
  }
  async::TaskGroup group(loop_);
  group.spawn(read_in_rounds());
  group.spawn(poll_states());
  if (options_.phy) group.spawn(read_phy_in_rounds());
  co_await group.join();
}

async::Task<> Engine::read_in_rounds() {
  async::Time next = loop_.now();
  for (;;) {
    is_extra_round_ = loop_.now() < next;
    if (is_sweep_due()) co_await sweep();
    co_await round();
    while (next <= loop_.now()) next += times_.interval;
    while (loop_.now() < next && !is_sweep_due()) {
      const async::Time wake = std::min({next, last_sweep_ + times_.sweep, causes_.due(last_sweep_)});
      co_await wake_.until(wake);
    }
  }
}

async::Task<> Engine::sweep() {
  is_sweep_urgent_ = false;
  causes_.sweep_begins(loop_.now());
  std::shared_ptr<const metrics::SweptFabric> before;
  if (view_.reading) before = view_.reading->fabric;
  std::shared_ptr<FabricReader> swept = co_await FabricReader::sweep(stack_, pace_ ? &*pace_ : nullptr, options_, std::move(before));
  if (subnet::is_start_down(swept->fabric()->subnet)) {  // sysfs did not say so when the stack was opened
    own_node_ = swept->fabric();
    throw PortDown(fmt::format("{} is Down: nothing beyond this host can be reached", stack_.host().end_port().name()));
  }
  reader_ = std::move(swept);
  last_sweep_ = loop_.now();
  causes_.sweep_took(reader_->fabric()->took);
  ++view_.exporter.sweeps;
  const metrics::SweptFabric& fabric = *reader_->fabric();
  for (const subnet::Failure& failure : fabric.failures) {  // what did not answer is missing, with all behind it, until the next sweep
    if (failure.kind != subnet::Failure::Kind::no_answer) continue;
    const Guid guid = failure.node == subnet::none ? Guid{} : fabric.subnet.node(failure.node).guid();
    want_sweep({guid, static_cast<unsigned>(failure.port)}, SweepCauses::Trigger::silence);
  }
}

async::Task<> Engine::round() {
  ++rounds_;
  if (round_begins) round_begins();
  const std::shared_ptr<FabricReader> reader = reader_;
  const bool is_new = reader != published_reader_;
  std::shared_ptr<const PortStates> states = view_.states;
  if (is_new) states = std::make_shared<PortStates>(reader->fabric()->subnet);
  std::shared_ptr<const Reading> reading = co_await reader->read(std::move(states), silent_);
  if (is_new) {
    states = co_await reader->poll();
    std::shared_ptr<const subnet::SurveyedManagers> managers = co_await reader->read_managers();
    take_managers(std::move(managers));
    known_states_.emplace(reader->fabric()->subnet);
    take_poll(*reader, *states);
  } else {
    states = view_.states;  // polled since
  }
  publish(std::move(reading), std::move(states));
}

void Engine::publish(std::shared_ptr<const Reading> reading, std::shared_ptr<const PortStates> states) {
  take_failures(*reading);
  // Nothing has moved since a reading that caused the sweep of this one: its findings stay until the next round in its time.
  const bool keeps = view_.findings && is_extra_round_ && std::exchange(has_new_links_, false);
  const bool has_new_fabric = !view_.reading || view_.reading->fabric != reading->fabric;
  if (has_new_fabric) place_phy_on(reading->fabric);
  if (!keeps) view_.findings = find(view_.reading.get(), *reading, view_.managers.get(), is_phy_old() ? nullptr : view_.phy.get());
  view_.waits.reset();
  if (view_.reading) {  // a link that went down or retrained between the two may end elsewhere now, or run at another rate
    const std::vector<PortIndex> ports = find_new_links(*view_.reading, *reading);
    has_new_links_ = !ports.empty();
    for (const PortIndex port : ports) want_sweep(cause_of(reading->fabric->subnet, port));
    view_.waits = find_waits(*view_.reading, *reading);
  }
  view_.reading = std::move(reading);
  view_.states = std::move(states);
  view_.exporter.is_last_round_lost = false;
  published_reader_ = reader_;
  published_ = loop_.now();
  published_round_ = rounds_;
  note("port", "", "the fabric is read again");
}

/// Puts the last readings of registers under the ports of a fabric.
void Engine::place_phy_on(const std::shared_ptr<const metrics::SweptFabric>& fabric) {
  view_.phy.reset();
  if (!phy_.reading) return;
  const auto table_of = [&fabric](const PhyRound& round) -> phy::Table {
    if (!round.reading) return {};
    if (round.fabric == fabric) return {round.reading, fabric->subnet};
    return {round.reading, fabric->subnet, subnet::Counterparts(fabric->subnet, round.fabric->subnet)};
  };
  view_.phy = std::make_shared<const metrics::PhyReading>(metrics::PhyReading{table_of(phy_), table_of(phy_before_), phy_.time, phy_.took});
}

/// Reads registers every so often beside the counters, which do not wait for them.
async::Task<> Engine::read_phy_in_rounds() {
  constexpr std::chrono::seconds until_published{1};
  for (;;) {
    const std::shared_ptr<FabricReader> reader = published_reader_;
    if (!reader) {
      co_await loop_.sleep_for(until_published);
      continue;
    }
    const async::Time begun = loop_.now();
    co_await read_phy(reader);
    if (view_.reading) place_phy_on(view_.reading->fabric);
    co_await loop_.sleep_for(std::max<async::Duration>(times_.phy - (loop_.now() - begun), until_published));
  }
}

async::Task<> Engine::read_phy(std::shared_ptr<FabricReader> reader) {
  PhyRound round;
  round.begun = loop_.now();
  round.fabric = reader->fabric();
  constexpr unsigned readings_until_retry = 12;
  if (phy_rounds_++ % readings_until_retry == 0) phy_silences_.clear();
  round.reading = co_await reader->read_phy(phy_silences_);
  round.time = loop_.clock().wall_time();
  round.took = loop_.now() - round.begun;
  const auto is_unread = [](const phy::DeviceRow& row) { return row.state != phy::DeviceState::read; };
  const auto unread = std::ranges::count_if(round.reading->devices, is_unread);
  const std::string line =
      unread == 0 ? "" : fmt::format("registers of {} of {} devices are not read", unread, round.reading->devices.size());
  note("phy", line, "the registers of all devices are read");
  phy_before_ = std::exchange(phy_, std::move(round));
}

/// Says which devices do not answer when that changes. A device that is newly among them may have gone, or have another LID.
void Engine::take_failures(const Reading& reading) {
  std::set<Guid> failed, silent;
  std::vector<std::string> names;
  const metrics::SweptFabric& fabric = *reading.fabric;
  for (std::size_t at = 0; at < reading.devices.size(); ++at) {
    const metrics::Device& device = fabric.devices[at];
    const metrics::DeviceReading::Outcome outcome = reading.devices[at].outcome;
    if (!metrics::has_failed(reading.devices[at])) continue;
    failed.insert(device.guid);
    if (outcome == metrics::DeviceReading::Outcome::silent) silent.insert(device.guid);
    const bool has_moved = outcome == metrics::DeviceReading::Outcome::moved;
    if (has_moved || !failed_.contains(device.guid)) want_sweep(cause_of(fabric.subnet, device.port));
    names.push_back(in_quotes(fabric.name(device.node)));
  }
  failed_ = std::move(failed);
  silent_ = std::move(silent);
  std::string line;
  if (!names.empty()) line = "counters are not read of " + subnet::some_of(names, "device", "devices");
  note("silent", line, "the counters of all devices are read");
  line.clear();
  if (!fabric.twins.empty())
    line = fmt::format("{} claimed by more than one device",
                       fabric.twins.size() == 1 ? "1 GUID is" : fmt::format("{} GUIDs are", fabric.twins.size()));
  note("twins", line, "no GUID is claimed twice");
}

async::Task<> Engine::poll_states() {
  co_await check_port();
  async::Time begun = loop_.now();
  for (;;) {
    const async::Duration took = loop_.now() - begun;
    co_await loop_.sleep_for(std::max(times_.states - took, took / 2));  // a limit of MADs may make a poll long
    begun = loop_.now();
    co_await check_port();
    const std::shared_ptr<FabricReader> reader = published_reader_;
    if (!reader) continue;
    std::shared_ptr<const PortStates> polled = co_await reader->poll();
    if (reader != published_reader_) continue;
    take_poll(*reader, *polled);
    view_.states = std::move(polled);
    std::shared_ptr<const subnet::SurveyedManagers> managers = co_await reader->read_managers();
    if (reader == published_reader_) take_managers(std::move(managers));
  }
}

/// Compares what was polled with the states before, which it updates.
void Engine::take_poll(const FabricReader& reader, const PortStates& polled) {
  const auto want = [&](PortIndex port) { want_sweep(cause_of(reader.fabric()->subnet, port)); };
  std::ranges::for_each(known_states_->update(polled), want);
  std::ranges::for_each(polled.changed(), want);
}

/// Only the subnet managers that the sweep found are polled. If none of them is master, another one is, and the fabric is swept.
void Engine::take_managers(std::shared_ptr<const subnet::SurveyedManagers> managers) {
  const std::vector<smp::SMState> states = states_of(*managers);
  const bool has_master = std::ranges::find(states, smp::SMState::master) != states.end();
  const bool has_changed = view_.managers && states_of(*view_.managers) != states;
  if ((!states.empty() && !has_master) || has_changed) want_sweep({Guid{}, 0});
  view_.managers = std::move(managers);
}

/// Reads the PortInfo of the own port. Throws PortChanged. If the port does not answer, the next sweep decides.
async::Task<> Engine::check_port() {
  const path::Path here = stack_.here();
  const mad::Result<smp::PortInfo> info = co_await stack_.lowest_transactor().try_subn_get<smp::PortInfo>(here);
  if (!info) co_return;
  const auto facts = [](const smp::PortInfo& of) { return std::tuple(of.lid, of.lmc, of.master_sm_lid, of.port_state); };
  const bool has_changed = port_info_ && facts(*port_info_) != facts(*info);
  port_info_ = *info;
  if (has_changed) throw PortChanged();
}

void Engine::lose(const Error& error) {
  forget_reading();
  if (dynamic_cast<const PortDown*>(&error) != nullptr) report_down_port();
  note("port", fmt::format("{}; trying again", error.message()), {});
}

void Engine::report_down_port() {
  std::shared_ptr<const metrics::SweptFabric> own = std::exchange(own_node_, nullptr);
  const sys::EndPort& port = own ? stack_.host().end_port() : stack_.down_port();
  if (!own) {
    auto of_sysfs = std::make_shared<metrics::SweptFabric>();
    of_sysfs->names = options_.names;
    subnet::add_own_node(of_sysfs->subnet, port);
    subnet::Node& node = of_sysfs->subnet.node(0);
    if (!node.has_description) node.set_description(as_bytes(port.device->name));  // a label is never empty
    own = std::move(of_sysfs);
  }
  view_.findings = find_down_port(std::move(own), port.name());
}

void Engine::forget_reading() {
  metrics::View nothing;
  nothing.exporter = view_.exporter;
  view_ = std::move(nothing);
  phy_ = phy_before_ = {};
  view_.exporter.is_last_round_lost = true;
  ++view_.exporter.failed_rounds;
}

void Engine::want_sweep(SweepCauses::Cause cause, SweepCauses::Trigger trigger) {
  causes_.add(cause, loop_.now(), trigger);
  wake_.ring();
}

void Engine::sweep_now() {
  is_sweep_urgent_ = true;
  wake_.ring();
}

bool Engine::is_sweep_due() const {
  const async::Time now = loop_.now();
  return !reader_ || is_sweep_urgent_ || now - last_sweep_ >= times_.sweep || now >= causes_.due(last_sweep_);
}

std::uint64_t Engine::mads_sent() const {
  const mad::Stats* stats = stack_.stats();
  return sent_before_ + (stats != nullptr ? stats->sent() : 0);
}

bool Engine::is_phy_old() const {
  return loop_.now() - phy_.begun > 2 * std::max<async::Duration>(times_.phy, phy_.took) + reading_patience;
}

metrics::View Engine::view() const {
  metrics::View view = view_;
  view.exporter.mads_sent = mads_sent();
  // A reading that takes longer than the interval, for the limit of MADs for instance, is the next one nevertheless.
  const async::Duration apart = std::max<async::Duration>(times_.interval, view.reading ? view.reading->took : async::Duration());
  if (loop_.now() - published_ > 2 * apart + reading_patience) view.reading.reset();
  if (is_phy_old()) view.phy.reset();
  return view;
}

}  // namespace ib::tools::exporter
