// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The capabilities of the PMAs of a survey. The first port of a PMA asks for them; other ports wait for the answer. Only for
// surveys of this library.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "async/event.hpp"
#include "subnet/counters.hpp"

namespace ib::subnet {

class PmaSupports {
 public:
  explicit PmaSupports(const Subnet& subnet) : subnet_(subnet) {}

  /// The capabilities of the PMA of `port`. A PMA that did not answer is asked again, because the survey knows whether the PMA
  /// is silent and when to try again.
  async::Task<mad::Result<PmaSupport>> of(SurveyPort port) {
    std::shared_ptr<Entry>& entry = entries_[subnet_.end_port_of(port.index)];
    if (entry && entry->result && !*entry->result && mad::tries_in_vain(entry->result->error())) entry = nullptr;
    if (!entry) {
      const auto mine = entry = std::make_shared<Entry>();
      mad::Result<PmaSupport> result = co_await read_pma_support(port.transactor, port.path);
      mine->result.emplace(std::move(result));
      mine->answered.set();
      co_return *mine->result;
    }
    const std::shared_ptr<Entry> other = entry;
    co_await other->answered;
    co_return *other->result;
  }

 private:
  struct Entry {
    std::optional<mad::Result<PmaSupport>> result;
    async::Event answered;
  };
  const Subnet& subnet_;
  std::map<PortIndex, std::shared_ptr<Entry>> entries_;  // by end port
};

}  // namespace ib::subnet
