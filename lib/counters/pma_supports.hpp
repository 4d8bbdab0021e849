// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The capabilities of the PMAs of a survey. The first port of a PMA requests them; other ports wait for the answer. Only for surveys of
// this library.
#pragma once

#include "async/once.hpp"
#include "counters/counters.hpp"
#include "subnet/survey.hpp"

namespace ib::counters {

/// Whether an agent answered; a refusal is an answer too. An async::Once keeps answers, and sends the request again after a timeout.
template <class T>
bool has_answered(const mad::Result<T>& answer) {
  return answer || !mad::tries_in_vain(answer.error());
}

class PmaSupports {
 public:
  explicit PmaSupports(const subnet::Subnet& subnet) : subnet_(subnet) {}

  /// The capabilities of the PMA of `port`. For a PMA that did not answer, the request is sent again: the survey decides whether the PMA is
  /// silent and when to try again.
  async::Task<mad::Result<PmaSupport>> of(subnet::SurveyPort port) {
    return answers_.get(subnet_.end_port_of(port.index), read_pma_support(port.transactor, port.path));
  }

 private:
  const subnet::Subnet& subnet_;
  async::Once<subnet::PortIndex, mad::Result<PmaSupport>> answers_{has_answered};  ///< by end port
};

}  // namespace ib::counters
