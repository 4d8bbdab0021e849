// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --repeat: the report of one round after another, for as long as the process runs. A round sweeps the fabric and reads its counters once;
// its window goes back to the round before, with whose model its own is compared. While the fabric is away, rounds are left out: the end
// port is closed and opened again until it is there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/health/counter_readings.hpp"
#include "tools/health/fetch.hpp"
#include "tools/health/sources.hpp"
#include "tools/health/stored_baseline.hpp"
#include "tools/health/wanted.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::health {

class HealthReport;

class Watch {
 public:
  /// All must outlive this. `stored` is the fabric of --baseline, if one is given.
  Watch(Session& session, Emit& emit, const Wanted& wanted, StoredBaseline& stored)
      : session_(session), emit_(emit), wanted_(wanted), stored_(stored) {}

  /// Ends with Ctrl-C, or after so many rounds as `interval` says.
  async::Task<> run(Interval interval);

 private:
  async::Task<> round(std::string time);
  async::Task<> look(const std::string& time);
  async::Task<Scope> scope_of(Fabric& now);
  void report(const Fabric& now, const Diagnosis& diagnosis, const Input& input, const Scope& scope, const std::string& time);
  void report_down_port(const std::string& time);
  void emit_round(const HealthReport& report, const std::string& time);
  void lose(const Error& error);
  bool has_port_changed(const Fabric& now);
  /// Closes the end port. The next round opens it as it is then.
  void close();

  Session& session_;
  Emit& emit_;
  const Wanted& wanted_;
  StoredBaseline& stored_;
  CounterReadings readings_;
  ManagerHistory managers_;
  std::optional<std::map<Guid, std::string>> firmware_;  ///< as the first round with a baseline has read it
  Ongoing::Registers registers_;                         ///< of the last round, with --phy
  BaselineTables tables_;                                ///< of the last round
  std::optional<Fabric> before_;                         ///< of the last round that read the fabric
  subnet::NodeIndex target_ = subnet::none;              ///< the node of TARGET in before_: its LID may change
  subnet::NodeIndex target_now_ = subnet::none;          ///< in the fabric of this round
  std::optional<std::pair<Lid, Lid>> port_lids_;         ///< that the end port had then: its own, and that of the subnet manager
  bool is_closed_{};
  std::string lost_;  ///< why the fabric is away; empty: it is there
};

}  // namespace ib::tools::health
