// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The engine of the exporter: it reads the fabric as long as the process runs, and publishes the results. It sweeps rarely, reads counters
// in rounds, and polls the states of ports in between. A change of a state causes a sweep soon. What is published is always complete, and
// no request waits for the fabric. If the end port goes away, changes its LID or gets another subnet manager, the stack is closed and
// opened again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.hpp"
#include "async/task.hpp"
#include "http/server.hpp"
#include "iba-gen/smp.hpp"
#include "mad/pace.hpp"
#include "metrics/fabric.hpp"
#include "metrics/families.hpp"
#include "phy/reading.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::exporter {

using subnet::NodeIndex;
using subnet::PortIndex;

// One sweep of the fabric, and the readings that stand on it: counters of the ports that have a link, and states of the ports of switches.
// A new sweep is a new FabricReader, so that readings on the one before can end undisturbed.

/// What is read of a fabric.
struct ReaderOptions {
  bool hcas{}, details{};
  subnet::NodeNameMap names{};
  unsigned mads_per_second{};                    ///< at most; 0: as many as the fabric takes
  bool phy{};                                    ///< registers too
  std::shared_ptr<const phy::VsKeys> vs_keys{};  ///< for the requests for registers; null: no device has one
};

class FabricReader {
 public:
  /// Sweeps the fabric. `before` is what was swept before, or null; `pace` limits what is sent, or is null. `stack` and `pace` must outlive
  /// the result, and the stack stay open as long as it is used. Throws as subnet::discover() does.
  static async::Task<std::shared_ptr<FabricReader>> sweep(Stack& stack, mad::Pace* pace, const ReaderOptions& options,
                                                          std::shared_ptr<const metrics::SweptFabric> before);

  /// `fabric` was swept from this port.
  FabricReader(Stack& stack, mad::Pace* pace, std::shared_ptr<const metrics::SweptFabric> fabric, const ReaderOptions& options);
  FabricReader(const FabricReader&) = delete;
  FabricReader& operator=(const FabricReader&) = delete;

  const std::shared_ptr<const metrics::SweptFabric>& fabric() const { return fabric_; }

  /// Whether this port is still linked to the node to which it was linked at the sweep. Routes of the sweep lead elsewhere if it is not.
  async::Task<bool> is_at_its_place();
  /// Reads the counters of all ports that have a link and are not down according to `states`. A node whose devices are all in `silent`,
  /// which did not answer in the round before, gets one request by one try, beside the others; only if it answers its counters are read.
  /// Each device is then requested to say who it is, by the LID that its counters came from (counters/readings.hpp). The first reading also
  /// requests, once, what later ones need to understand counters: PortSamplesControl of each device, and with details the FEC modes of
  /// links.
  async::Task<std::shared_ptr<const metrics::Reading>> read(std::shared_ptr<const metrics::PortStates> states, std::set<Guid> silent);
  /// Reads the states of all external ports of switches, and their LIDs.
  async::Task<std::shared_ptr<const metrics::PortStates>> poll();
  /// Reads the SMInfo of each end port that had a subnet manager at the sweep, and of the one that this port had as its master.
  async::Task<std::shared_ptr<const subnet::SurveyedManagers>> read_managers();
  /// Reads the registers of the ports of switches, with HCAs also of their ports, and the environment of switches. What fails is not there.
  /// Devices that were silent in two readings running get no request: a protected one counts each as a violation of its key. `silences`,
  /// which must outlive the task, has how often each was silent, and gets what this reading found; without them all devices get requests.
  async::Task<std::shared_ptr<const phy::Reading>> read_phy(std::map<Guid, unsigned>& silences);

 private:
  path::Path polling_start() const;
  async::Task<> read_nodes(metrics::CounterRound& round, std::vector<NodeIndex> nodes);
  async::Task<> try_silent(metrics::CounterRound& round, std::vector<NodeIndex> nodes);
  async::Task<> try_node(NodeIndex node, PortIndex port, std::set<NodeIndex>& answered);
  async::Task<> read_ticks(metrics::CounterRound& round);
  async::Task<> read_tick(const metrics::Device& device);
  async::Task<> check_devices(metrics::CounterRound& round);
  async::Task<> check_device(const metrics::Device& device, std::set<PortIndex>& moved, std::set<PortIndex>& mute);

  Stack& stack_;
  // The layers of the stack, limited to a number of MADs a second if that is wanted:
  mad::PacedTransactor lowest_, smps_, gmps_;
  mad::PacedTransactor urgent_smps_;  ///< for polls, which do not wait for a sweep or a reading
  std::shared_ptr<const metrics::SweptFabric> fabric_;
  path::Path start_;
  ReaderOptions options_;
  subnet::PortPaths paths_;
  counters::KnownPmas pmas_;
  /// PortSamplesControl.Tick by device; absent where it was requested and not reported.
  std::map<PortIndex, std::optional<std::uint8_t>> ticks_;
  std::shared_ptr<const subnet::FecModes> fec_modes_;  ///< read once, for details
  std::set<PortIndex> mute_;                           ///< devices whose SMA did not say by LID who it is in the last round
};

/// The intervals of the engine.
struct Times {
  async::Duration interval = std::chrono::seconds(30);  ///< from one reading of counters to the next
  async::Duration sweep = std::chrono::seconds(600);    ///< from one sweep to the next where nothing changes
  async::Duration states = std::chrono::seconds(8);     ///< from the beginning of one poll of port states to the beginning of the next
  async::Duration sweep_gap = std::chrono::seconds(8);  ///< at least, from one sweep to the next; for one cause see SweepCauses
  async::Duration phy = std::chrono::seconds(300);      ///< from the beginning of one reading of registers to the beginning of the next
  async::Duration reopen = std::chrono::seconds(5);     ///< until the end port is tried again
};

/// Why the fabric is to be swept before its time, and when. A port that changes has the fabric swept soon. If it changes again and again,
/// as a flapping link does, each sweep for it comes twice as long after the one before, up to 20 times what a sweep takes. A port that
/// stays silent has sweeps ever more rarely. Sweeps for other ports do not wait for it.
class SweepCauses {
 public:
  /// A port: the GUID of its node, and its number. GUID 0 stands for the whole fabric.
  using Cause = std::pair<Guid, unsigned>;
  static constexpr async::Time never = async::Time::max();

  /// `gap` is the time from one sweep to the next at least, `longest` what it grows to for a port that stays silent, and for one that
  /// changes where sweeps take long.
  SweepCauses(async::Duration gap, async::Duration longest)
      : gap_(gap), greatest_(std::max(gap, longest)), longest_(std::min(2 * gap, greatest_)) {}

  /// A sweep took so long. Sweeps for a port that changes shall take no more than 5 % of the time.
  void sweep_took(async::Duration took) { longest_ = std::clamp(20 * took, std::min(2 * gap_, greatest_), greatest_); }

  enum class Trigger : std::uint8_t { change, silence };
  /// Notes at `now` that something has changed, or has not answered the sweep.
  void add(const Cause& cause, async::Time now, Trigger trigger = Trigger::change) {
    const auto [at, is_first] = records_.try_emplace(cause, Record{false, now, gap_});
    Record& record = at->second;
    if (record.is_open) return;
    const bool is_new = is_first || now > record.swept + 2 * record.gap;
    if (is_new) record.gap = gap_;
    const async::Time due = is_new ? now : std::max(now, record.swept + record.gap);
    record = {true, due, std::min(2 * record.gap, trigger == Trigger::change ? longest_ : greatest_)};
    due_ = std::min(due_, due);
  }

  /// When the fabric is to be swept, for a sweep that began at `last`; `never` if there is no cause.
  async::Time due(async::Time last) const { return due_ == never ? never : std::max(due_, last + gap_); }

  /// A sweep begins at `now`: it is one for all causes.
  void sweep_begins(async::Time now) {
    due_ = never;
    for (auto& [cause, record] : records_) {
      if (std::exchange(record.is_open, false)) record.swept = now;
    }
    std::erase_if(records_, [now](const auto& entry) { return now > entry.second.swept + 2 * entry.second.gap; });
  }

 private:
  struct Record {
    bool is_open;         ///< a sweep is wanted for it
    async::Time swept;    ///< when a sweep began for it, or is to begin
    async::Duration gap;  ///< from then to the next one for it
  };
  async::Duration gap_, greatest_, longest_;
  async::Time due_ = never;
  std::map<Cause, Record> records_;
};

// The checks of health over what the exporter reads anyway: its sweep, its two last readings, and the last registers. Nothing is sent for
// them.

/// What is found in `now`. `before` is the reading before it, on the same sweep or an earlier one; null: there was none. `managers` are
/// the managers of the fabric of `now`, as they were polled last; null: they were not polled. `phy` are the registers of its ports; null:
/// they were not read. Checks for which the exporter does not read enough are not done.
std::shared_ptr<const metrics::Findings> find(const metrics::Reading* before, const metrics::Reading& now,
                                              const subnet::SurveyedManagers* managers, const metrics::PhyReading* phy = nullptr);

/// What is found where the own port is Down: in a fabric of one node, whose end port is `own_port`.
std::shared_ptr<const metrics::Findings> find_down_port(std::shared_ptr<const metrics::SweptFabric> own, const std::string& own_port);

/// The ports whose link went down, or retrained, between two readings, according to their counters.
std::vector<PortIndex> find_new_links(const metrics::Reading& before, const metrics::Reading& now);

/// By row of `now`: the share of time in which the port waited (PortXmitWait) between the readings; not a number where that is not known.
std::shared_ptr<const std::vector<float>> find_waits(const metrics::Reading& before, const metrics::Reading& now);

class Engine {
 public:
  /// `stack` must outlive this object. Lines of the log begin with `prefix`. Reads nothing.
  Engine(Stack& stack, ReaderOptions options, Times times, std::string prefix = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Reads until the task is cancelled. An end port that cannot be opened is tried again, also at the start.
  async::Task<> run();
  /// Sweeps and reads once. Throws what goes wrong. After PortDown, view() has the finding of the own port.
  async::Task<> run_once();
  /// Has the fabric swept as soon as possible.
  void sweep_now();
  // From the next sweep on:
  void set_names(subnet::NodeNameMap names) { options_.names = std::move(names); }
  void set_vs_keys(std::shared_ptr<const phy::VsKeys> keys) { options_.vs_keys = std::move(keys); }

  /// What is published now. A reading that is older than two intervals, or twice the time that it took, is not: its values would be
  /// repeated under a new time. So it is with registers and their interval.
  metrics::View view() const;
  bool is_ready() const { return view().reading != nullptr; }
  /// How many rounds have begun.
  std::uint64_t rounds() const { return rounds_; }
  /// The number of the round whose reading view() has; the number of the last round if it has none.
  std::uint64_t published_round() const { return view_.reading ? published_round_ : rounds_; }
  /// Called when a round begins.
  std::function<void()> round_begins;

 private:
  async::Task<> live();
  async::Task<> read_in_rounds();
  async::Task<> poll_states();
  async::Task<> read_phy_in_rounds();
  async::Task<> read_phy(std::shared_ptr<FabricReader> reader);
  async::Task<> check_port();
  async::Task<> sweep();
  async::Task<> round();
  void publish(std::shared_ptr<const metrics::Reading> reading, std::shared_ptr<const metrics::PortStates> states);
  void take_poll(const FabricReader& reader, const metrics::PortStates& polled);
  void take_managers(std::shared_ptr<const subnet::SurveyedManagers> managers);
  void take_failures(const metrics::Reading& reading);
  void place_phy_on(const std::shared_ptr<const metrics::SweptFabric>& fabric);
  void lose(const Error& error);
  void forget_reading();
  void report_down_port();
  void want_sweep(SweepCauses::Cause cause, SweepCauses::Trigger trigger = SweepCauses::Trigger::change);
  bool is_sweep_due() const;
  bool is_phy_old() const;
  std::uint64_t mads_sent() const;
  /// Logs a line about `about` if it differs from the last one: a state that lasts for hours is one line of the log. `line` is empty if all
  /// is well; then `well` is logged, if a line was logged before.
  void note(const std::string& about, const std::string& line, std::string_view well);

  Stack& stack_;
  async::Loop& loop_;
  ReaderOptions options_;
  Times times_;
  std::optional<mad::Pace> pace_;  ///< where the user limits what is sent
  async::Alarm wake_;
  std::string prefix_;  ///< of lines of the log
  std::map<std::string, std::string> last_notes_;

  std::shared_ptr<FabricReader> reader_;            ///< of the last sweep
  std::shared_ptr<FabricReader> published_reader_;  ///< of what is published; null: nothing of the open stack
  metrics::View view_;
  async::Time published_{}, last_sweep_{};
  /// The last reading of registers, and the one before.
  struct PhyRound {
    std::shared_ptr<const phy::Reading> reading;
    std::shared_ptr<const metrics::SweptFabric> fabric;  ///< whose ports were read
    metrics::WallTime time{};
    async::Time begun{};
    async::Duration took{};
  };
  PhyRound phy_, phy_before_;
  unsigned phy_rounds_{};                  ///< readings of registers that were begun
  std::map<Guid, unsigned> phy_silences_;  ///< how often devices were silent in them, since all got requests
  SweepCauses causes_;
  bool is_sweep_urgent_{};
  bool is_extra_round_{};                                 ///< this round comes before its time, for a sweep
  bool has_new_links_{};                                  ///< according to the counters of the reading that is published
  std::set<Guid> failed_, silent_;                        ///< devices that the last reading did not read, and that did not answer it
  std::optional<metrics::PortStates> known_states_;       ///< of each port the last one that was read, on published_reader_
  std::shared_ptr<const metrics::SweptFabric> own_node_;  ///< all that a sweep found, because the own port was Down
  std::optional<smp::PortInfo> port_info_;                ///< of the end port, when it was looked at first
  std::uint64_t rounds_{}, published_round_{}, sent_before_{};
};

/// Checks that the end port of -C and -P is there. Throws UsageError if it is not, and this host has devices: then the name is wrong. A
/// host without devices may still be starting: nothing is checked. The default port is not checked either.
void check_named_port(Host& host);

/// A local port through which a process sees a fabric, with an engine of its own.
struct LocalPort {
  std::string name;              ///< "mlx5_1/1"
  std::unique_ptr<Host> host;    ///< null: the host of the first stack
  std::unique_ptr<Stack> stack;  ///< null: the first stack
  std::unique_ptr<Engine> engine;
};
/// First the port of -C and -P, then the ports of --add-port.
using LocalPorts = std::vector<LocalPort>;
/// `first` is the stack of the first port, which must outlive the result; the stacks of `others`, which are names of ports, are opened like
/// it, by the same options. None of them needs to be there yet. Throws UsageError for a port that is named twice.
LocalPorts local_ports(Stack& first, const std::vector<std::string>& others, const ReaderOptions& options, const Times& times);

// What the exporter answers to HTTP requests: /metrics, a page for people, and whether it runs and is ready.

/// Which page a request for /metrics wants. Throws UsageError for a shard, a collector or a parameter that there is not.
metrics::PagePart part_of(const http::Request& request);

/// Whether the header Accept `accepted` prefers OpenMetrics (RFC 9110, 12.5.1).
bool prefers_openmetrics(std::string_view accepted);

std::string front_page(const metrics::View& view, std::chrono::system_clock::time_point now);

/// Answers a request. `ports` and `rules` must outlive the body of the answer.
http::Answer answer(const http::Request& request, const LocalPorts& ports, const metrics::PageRules& rules, const async::Clock& clock);

}  // namespace ib::tools::exporter
