// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The Transactors of the exporter: the layers of a Stack, limited to a number of MADs a second if that is wanted.
#pragma once

#include <optional>

#include "mad/pace.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::exporter {

class Senders {
 public:
  /// Opens the stack. `pace` is null without a limit. Both must outlive this object, and the stack stay open.
  Senders(Stack& stack, mad::Pace* pace)
      : lowest_(stack.lowest_transactor(), pace),
        smps_(stack.smp_transactor(), pace),
        urgent_smps_(stack.smp_transactor(), pace, mad::Pace::Urgency::urgent),
        gmps_(stack.transactor(), pace) {}
  Senders(const Senders&) = delete;
  Senders& operator=(const Senders&) = delete;

  mad::Transactor& lowest() { return lowest_.get(); }  ///< for sweeps
  mad::Transactor& smps() { return smps_.get(); }
  mad::Transactor& urgent_smps() { return urgent_smps_.get(); }  ///< for polls, which do not wait for a sweep or a reading
  mad::Transactor& gmps() { return gmps_.get(); }

 private:
  struct Sender {
    Sender(mad::Transactor& of, mad::Pace* pace, mad::Pace::Urgency urgency = mad::Pace::Urgency::usual) : direct(of) {
      if (pace != nullptr) paced.emplace(of, *pace, urgency);
    }
    mad::Transactor& get() { return paced ? *paced : direct; }
    mad::Transactor& direct;
    std::optional<mad::PacedTransactor> paced;
  };
  Sender lowest_, smps_, urgent_smps_, gmps_;
};

}  // namespace ib::tools::exporter
