// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "base/log.hpp"
#include "tools/build_info.hpp"
#include "tools/exporter/findings.hpp"

namespace ib::tools::exporter {
namespace {

using metrics::PortStates;
using metrics::Reading;

constexpr std::chrono::seconds reading_patience{10};

/// The end port is not the same any more: its LID, its state or its subnet manager has changed.
struct PortChanged {};

bool is_same_port(const smp::PortInfo& before, const smp::PortInfo& now) {
  return before.lid == now.lid && before.lmc == now.lmc && before.master_sm_lid == now.master_sm_lid && before.port_state == now.port_state;
}

/// Names for a line of the log: three of them at most.
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "), names.size() > most ? ", …" : "");
}

}  // namespace

void Notices::tell(const std::string& about, const std::string& line, std::string_view well) {
  std::string& last = last_[about];
  if (line == last) return;
  log_.warning(prefix_ + (line.empty() ? std::string(well) : line));
  last = line;
}

Engine::Engine(Stack& stack, ReaderOptions options, Times times, std::string prefix)
    : stack_(stack),
      loop_(stack.loop()),
      options_(std::move(options)),
      times_(times),
      wake_(loop_),
      notices_(*stack.host().world().log, std::move(prefix)) {
  view_.exporter.version = version;
  if (options_.mads_per_second != 0) pace_.emplace(loop_, options_.mads_per_second, [this] { return mads_sent(); });
}

async::Task<> Engine::run_once() {
  async::Task<> swept = sweep();
  co_await std::move(swept);
  async::Task<> read = round();
  co_await std::move(read);
  view_.exporter.last_execution = loop_.clock().wall_time();
}

async::Task<> Engine::run() {
  stack_.open();
  for (;;) {
    async::Duration pause{};
    try {
      async::Task<> life = live();
      co_await std::move(life);
    } catch (const PortChanged&) {  // what is published stays until the next reading
    } catch (const Error& error) {
      lose(error);
      pause = times_.reopen;
    }
    close();
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
  stack_.open();
  async::TaskGroup group(loop_);
  group.spawn(read_in_rounds());
  group.spawn(poll_states());
  co_await group.join();
}

async::Task<> Engine::read_in_rounds() {
  async::Time next = loop_.now();
  for (;;) {
    if (is_sweep_due()) co_await sweep();
    co_await round();
    while (next <= loop_.now()) next += times_.interval;
    while (loop_.now() < next && !is_sweep_due()) co_await wake_.until(next_wake(next));
  }
}

async::Task<> Engine::sweep() {
  is_sweep_wanted_ = is_sweep_urgent_ = false;
  std::shared_ptr<const metrics::SweptFabric> before;
  if (view_.reading) before = view_.reading->fabric;
  std::shared_ptr<FabricReader> swept = co_await FabricReader::sweep(stack_, pace_ ? &*pace_ : nullptr, options_, std::move(before));
  reader_ = std::move(swept);
  last_sweep_ = loop_.now();
  ++view_.exporter.sweeps;
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
    known_states_ = co_await reader->read_states();
    states = known_states_;
    std::shared_ptr<const metrics::Managers> managers = co_await reader->read_managers();
    view_.managers = std::move(managers);
  } else {
    states = view_.states;  // polled since
  }
  publish(std::move(reading), std::move(states));
}

void Engine::publish(std::shared_ptr<const Reading> reading, std::shared_ptr<const PortStates> states) {
  take_failures(*reading);
  view_.findings = find(view_.reading.get(), *reading);
  view_.reading = std::move(reading);
  view_.states = std::move(states);
  view_.exporter.is_last_round_lost = false;
  published_reader_ = reader_;
  published_ = loop_.now();
  notices_.tell("port", "", "the fabric is read again");
}

/// Says which devices do not answer when that changes. A device that is newly among them may have gone, or have another LID.
void Engine::take_failures(const Reading& reading) {
  std::set<Guid> failed, silent;
  std::vector<std::string> names;
  const metrics::SweptFabric& fabric = *reading.fabric;
  const auto take = [&](const std::vector<metrics::DeviceReading>& readings, const std::vector<metrics::Device>& devices) {
    for (std::size_t at = 0; at < readings.size(); ++at) {
      if (!metrics::has_failed(readings[at])) continue;
      failed.insert(devices[at].guid);
      if (readings[at].outcome == metrics::DeviceReading::Outcome::silent) silent.insert(devices[at].guid);
      names.push_back(quoted(fabric.name(devices[at].node)));
    }
  };
  take(reading.switches, fabric.switches);
  take(reading.hcas, fabric.hcas);
  if (!std::ranges::includes(failed_, failed)) want_sweep();
  failed_ = std::move(failed);
  silent_ = std::move(silent);
  std::string line;
  if (!names.empty())
    line = fmt::format("counters of {} {} are not read: {}", names.size(), names.size() == 1 ? "device" : "devices", some(names));
  notices_.tell("silent", line, "the counters of all devices are read");
  line.clear();
  if (!fabric.twins.empty()) line = fmt::format("{} GUIDs are claimed by more than one device", fabric.twins.size());
  notices_.tell("twins", line, "no GUID is claimed twice");
}

async::Task<> Engine::poll_states() {
  for (;;) {
    co_await loop_.sleep_for(times_.states);
    co_await check_port();
    const std::shared_ptr<FabricReader> reader = published_reader_;
    if (!reader) continue;
    std::shared_ptr<const PortStates> states = co_await reader->read_states();
    if (reader != published_reader_) continue;
    take_states(std::move(states));
    std::shared_ptr<const metrics::Managers> managers = co_await reader->read_managers();
    if (reader == published_reader_) view_.managers = std::move(managers);
  }
}

void Engine::take_states(std::shared_ptr<const PortStates> states) {
  auto known = std::make_shared<PortStates>(*known_states_);
  if (known->update(*states)) want_sweep();
  known_states_ = std::move(known);
  view_.states = std::move(states);
}

/// Asks the own port what it is. Throws PortChanged. A port that gives no answer is left to the next sweep.
async::Task<> Engine::check_port() {
  const path::Path here = stack_.here();
  const mad::Result<smp::PortInfo> info = co_await stack_.lowest_transactor().try_subn_get<smp::PortInfo>(here);
  if (!info) co_return;
  if (port_info_ && !is_same_port(*port_info_, *info)) {
    port_info_ = *info;
    throw PortChanged();
  }
  port_info_ = *info;
}

void Engine::close() {
  sent_before_ = mads_sent();
  reader_.reset();
  published_reader_.reset();
  stack_.close();
}

void Engine::lose(const Error& error) {
  view_.reading.reset();
  view_.states.reset();
  view_.managers.reset();
  view_.findings.reset();
  view_.exporter.is_last_round_lost = true;
  ++view_.exporter.failed_rounds;
  notices_.tell("port", fmt::format("{}; trying again", error.message()), {});
}

void Engine::want_sweep() {
  is_sweep_wanted_ = true;
  wake_.ring();
}

void Engine::sweep_now() {
  is_sweep_urgent_ = true;
  wake_.ring();
}

bool Engine::is_sweep_due() const {
  const async::Duration since = loop_.now() - last_sweep_;
  return !reader_ || is_sweep_urgent_ || since >= times_.sweep || (is_sweep_wanted_ && since >= times_.sweep_gap);
}

async::Time Engine::next_wake(async::Time next_round) const {
  return std::min(next_round, last_sweep_ + (is_sweep_wanted_ ? times_.sweep_gap : times_.sweep));
}

std::uint64_t Engine::mads_sent() const {
  const mad::Stats* stats = stack_.stats();
  return sent_before_ + (stats != nullptr ? stats->sent() : 0);
}

metrics::View Engine::view() const {
  metrics::View view = view_;
  view.exporter.mads_sent = mads_sent();
  // A reading that takes longer than the interval, for the limit of MADs for instance, is the next one nevertheless.
  const async::Duration apart = std::max<async::Duration>(times_.interval, view.reading ? view.reading->took : async::Duration());
  if (loop_.now() - published_ > 2 * apart + reading_patience) view.reading.reset();
  return view;
}

}  // namespace ib::tools::exporter
