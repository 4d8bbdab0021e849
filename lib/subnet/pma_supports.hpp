// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the PMAs of a survey support: each is asked by the first of its ports, the others wait for the answer. For surveys of this
// library only.
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

  /// What the PMA of `port` supports. One that did not answer is asked again: the survey knows that it is silent, and when to try once
  /// more.
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
