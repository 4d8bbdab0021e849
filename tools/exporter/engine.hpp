// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The engine of the exporter: it reads the fabric as long as the process runs, and publishes the results. It sweeps rarely, reads counters
// in rounds, and polls the states of ports in between. A change of a state causes a sweep soon. What is published is always complete, and
// no request waits for the fabric. If the end port goes away, changes its LID or gets another subnet manager, the stack is closed and
// opened again.
#pragma once

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
#include "iba-gen/smp.hpp"
#include "metrics/fabric.hpp"
#include "tools/exporter/fabric_reader.hpp"
#include "tools/exporter/sweep_causes.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::exporter {

/// The intervals of the engine.
struct Times {
  async::Duration interval = std::chrono::seconds(30);  ///< from one reading of counters to the next
  async::Duration sweep = std::chrono::seconds(600);    ///< from one sweep to the next where nothing changes
  async::Duration states = std::chrono::seconds(8);     ///< from the beginning of one poll of port states to that of the next
  async::Duration sweep_gap = std::chrono::seconds(8);  ///< at least, from one sweep to the next; for one cause see SweepCauses
  async::Duration phy = std::chrono::seconds(300);      ///< from the beginning of one reading of registers to that of the next
  async::Duration reopen = std::chrono::seconds(5);     ///< until the end port is tried again
};

/// Logs a line only if it differs from the last line on the same subject: a state that lasts for hours is one line of the log.
class Notices {
 public:
  /// Each line begins with `prefix`.
  Notices(Log& log, std::string prefix) : log_(log), prefix_(std::move(prefix)) {}
  /// `line` is empty if all is well; then `well` is logged, if a line was logged before.
  void note(const std::string& about, const std::string& line, std::string_view well);

 private:
  Log& log_;
  std::string prefix_;
  std::map<std::string, std::string> last_;
};

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
  /// The node name map from the next sweep on.
  void set_names(subnet::NodeNameMap names) { options_.names = std::move(names); }
  /// The VS_Keys from the next sweep on.
  void set_vs_keys(std::shared_ptr<const phy::VsKeys> keys) { options_.vs_keys = std::move(keys); }

  /// What is published now. A reading that is older than two intervals, or twice the time that it took, is not: its values would be
  /// repeated under a new time. So it is with registers and their interval.
  metrics::View view() const;
  /// Whether view() has a reading.
  bool is_ready() const { return view().reading != nullptr; }
  /// How many rounds have begun.
  std::uint64_t rounds() const { return rounds_; }
  /// The number of the round whose reading view() has; that of the last round if it has none.
  std::uint64_t published_round() const { return view_.reading ? published_round_ : rounds_; }
  /// Called when a round begins.
  std::function<void()> round_begins;

 private:
  async::Task<> live();
  async::Task<> resume_polls();
  async::Task<> read_in_rounds();
  async::Task<> poll_states();
  async::Task<> read_phy_in_rounds();
  async::Task<> read_phy(std::shared_ptr<FabricReader> reader);
  async::Task<> check_port();
  async::Task<> sweep();
  async::Task<> round();
  void publish(std::shared_ptr<const metrics::Reading> reading, std::shared_ptr<const metrics::PortStates> states);
  void take_poll(const FabricReader& reader, std::shared_ptr<metrics::PortStates> known, const Polled& polled);
  void take_differing(const FabricReader& reader, const std::vector<subnet::PortIndex>& ports);
  void take_managers(std::shared_ptr<const metrics::Managers> managers);
  void take_failures(const metrics::Reading& reading);
  void take_link_counts(const metrics::Reading& before, const metrics::Reading& now);
  void place_phy_on(const std::shared_ptr<const metrics::SweptFabric>& fabric);
  void take_silence(const metrics::SweptFabric& fabric);
  void close();
  void lose(const Error& error);
  void forget_reading();
  void report_down_port();
  void want_sweep(SweepCauses::Cause cause, SweepCauses::Kind kind = SweepCauses::Kind::change);
  bool is_sweep_due() const;
  bool is_phy_old() const;
  async::Time next_wake(async::Time next_round) const;
  std::uint64_t mads_sent() const;

  Stack& stack_;
  async::Loop& loop_;
  ReaderOptions options_;
  Times times_;
  std::optional<mad::Pace> pace_;  ///< where the user limits what is sent
  async::Alarm wake_;
  Notices notices_;

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
  bool is_extra_round_{};                                    ///< this round comes before its time, for a sweep
  bool has_new_links_{};                                     ///< according to the counters of the reading that is published
  std::set<Guid> failed_, silent_;                           ///< devices that the last reading did not read, and that did not answer it
  std::shared_ptr<const metrics::PortStates> known_states_;  ///< of each port the last one that was read, on published_reader_
  std::shared_ptr<const metrics::SweptFabric> own_node_;     ///< all that a sweep found, because the own port was Down
  std::optional<smp::PortInfo> port_info_;                   ///< of the end port, when it was looked at first
  std::uint64_t rounds_{}, published_round_{}, sent_before_{};
};

}  // namespace ib::tools::exporter
