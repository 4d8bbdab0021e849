// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Why the fabric is to be swept before its time, and when. A port that changes has the fabric swept soon. If the same port changes again
// and again, as a flapping link does, each sweep for it comes twice as long after the one before, up to 20 times what a sweep takes. A port
// that stays silent has sweeps ever more rarely. Sweeps for other ports do not wait for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "async/clock.hpp"
#include "iba/types.hpp"

namespace ib::tools::exporter {

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

  enum class Kind : std::uint8_t { change, silence };
  /// Notes at `now` that something has changed, or has not answered the sweep.
  void add(const Cause& cause, async::Time now, Kind kind = Kind::change) {
    const auto [at, is_first] = records_.try_emplace(cause, Record{false, now, gap_});
    Record& record = at->second;
    if (record.is_open) return;
    const bool is_new = is_first || now > record.swept + 2 * record.gap;
    if (is_new) record.gap = gap_;
    const async::Time due = is_new ? now : std::max(now, record.swept + record.gap);
    record = {true, due, std::min(2 * record.gap, kind == Kind::change ? longest_ : greatest_)};
    due_ = std::min(due_, due);
  }

  /// When the fabric is to be swept, for a sweep that began at `last`; `never` if there is no cause.
  async::Time due(async::Time last) const { return due_ == never ? never : std::max(due_, last + gap_); }

  /// A sweep begins at `now`: it is one for all causes.
  void sweep_begins(async::Time now) {
    due_ = never;
    for (auto at = records_.begin(); at != records_.end();) {
      if (at->second.is_open) {
        at->second.is_open = false;
        at->second.swept = now;
      }
      at = now > at->second.swept + 2 * at->second.gap ? records_.erase(at) : std::next(at);
    }
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

}  // namespace ib::tools::exporter
