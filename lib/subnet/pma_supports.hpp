// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The capabilities of the PMAs of a survey. The first port of a PMA asks for them; other ports wait for the answer. Only for
// surveys of this library.
#pragma once

#include "async/once.hpp"
#include "subnet/counters.hpp"

namespace ib::subnet {

class PmaSupports {
 public:
  explicit PmaSupports(const Subnet& subnet) : subnet_(subnet) {}

  /// The capabilities of the PMA of `port`. A PMA that did not answer is asked again, because the survey knows whether the PMA
  /// is silent and when to try again.
  async::Task<mad::Result<PmaSupport>> of(SurveyPort port) {
    async::Task<mad::Result<PmaSupport>> asking = read_pma_support(port.transactor, port.path);
    asking = answers_.get(subnet_.end_port_of(port.index), std::move(asking));
    mad::Result<PmaSupport> answer = co_await std::move(asking);
    co_return answer;
  }

 private:
  static bool is_kept(const mad::Result<PmaSupport>& answer) { return answer || !mad::tries_in_vain(answer.error()); }

  const Subnet& subnet_;
  async::Once<PortIndex, mad::Result<PmaSupport>> answers_{is_kept};  ///< by end port
};

}  // namespace ib::subnet
