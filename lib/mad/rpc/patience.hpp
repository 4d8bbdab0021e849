// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How long an Rpc waits, by the round trips that it has measured.
#pragma once

#include "async/clock.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

class RpcCall;
using async::Duration;

/// The pause after try `tries`, counted from 1. A lost try itself took a long time, so its pause only spreads bursts.
Duration delay_after(unsigned tries, bool busy);

/// A smoothed time; zero before the first measurement.
class SmoothedTime {
 public:
  void measure(Duration took) { time_ = time_ == Duration::zero() ? took : time_ + (took - time_) / 8; }
  Duration get() const { return time_; }

 private:
  Duration time_{};
};

/// The round trips of an engine: of SMPs, of GMPs, and of queries of the SA, which is one program for all.
class Patience {
 public:
  /// A try of `mgmt_class` was answered after `took`.
  void measure(std::uint8_t mgmt_class, Duration took) {
    (is_smp(mgmt_class) ? smps_ : mgmt_class == mgmt_class::sa ? sa_ : gmps_).measure(took);
  }
  /// A segment came `took` after the ACK before it.
  void measure_ack(Duration took) { acks_.measure(took); }

  /// The time after which a request leaves the window. A request without an answer for many round trips is no longer in the
  /// buffers that the window protects: it was lost, or its node is slow. Otherwise a few dead ports would delay a whole sweep.
  Duration stale_after(std::uint8_t mgmt_class) const;
  /// The time after which the try that `call` has just sent counts as lost. MADs are unreliable datagrams. Most MADs without an answer for
  /// many round trips are lost, and a sweep that waits the whole timeout for each of them waits so at each level. The first two tries of a
  /// read are therefore repeated early. This does no harm to a slow node: its answer to an earlier try counts, and later tries have the
  /// whole timeout. A timeout that the user gave applies to every try. The SA has many clients: its requests are repeated less early, and
  /// only after its first answer. Requests of unknown classes with RMPP are not repeated early.
  Duration for_answer(const RpcCall& call) const;
  /// The time after which the last ACK, which was repeated `repeats` times, is repeated, if no segment comes. `sure` is a time after which
  /// even a slow sender has sent. It doubles, because the timers of some senders start again with every ACK.
  Duration for_segment(unsigned repeats, Duration sure) const;

 private:
  Duration round_trip(std::uint8_t mgmt_class) const {
    return (is_smp(mgmt_class) ? smps_ : mgmt_class == mgmt_class::sa ? sa_ : gmps_).get();
  }

  SmoothedTime smps_, gmps_, sa_, acks_;
};

}  // namespace ib::mad
