// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/forwarding_tables/lid_owners.hpp"

#include <algorithm>

#include "async/group.hpp"
#include "async/timer.hpp"
#include "base/escape.hpp"

namespace ib::tools::tables {
namespace {

/// More than the engine sends at once: most of those that are silent wait for their next try.
constexpr std::size_t lids_at_once = 1024;
constexpr unsigned lids_of_largest_lmc = 128;
constexpr std::chrono::milliseconds longest_wait_for_base{200};

}  // namespace

async::Task<> LidOwners::request_owner(Lid lid) {
  path::IbPath to = like_;
  to.dlid = lid;
  const path::Path path = to;
  const mad::Result<smp::NodeDescription> description = co_await transactor_.try_subn_get<smp::NodeDescription>(path);
  if (!description) {
    silent_[lid] = description.shared_error();
    co_return;
  }
  const mad::Result<smp::PortInfo> port = co_await transactor_.try_subn_get<smp::PortInfo>(path);
  if (!port) {
    silent_[lid] = port.shared_error();
    co_return;
  }
  const mad::Result<smp::NodeInfo> node = co_await transactor_.try_subn_get<smp::NodeInfo>(path);
  if (!node) {
    silent_[lid] = node.shared_error();
    co_return;
  }
  const auto found =
      std::make_shared<OwnerAttributes>(OwnerAttributes{*node, std::string(fixed_text(description->node_string)), port->lid, port->lmc});
  found_[lid] = found;
  const unsigned base = port->lid.value;
  if (lid.value >= base && lid.value < base + (1U << port->lmc)) keep(found);
}

/// Keeps a port for all its LIDs.
void LidOwners::keep(std::shared_ptr<const OwnerAttributes> found) {
  const unsigned base = found->base.value;
  for (unsigned lid = base; lid < base + (1U << found->lmc) && lid <= last_unicast_lid; ++lid) {
    found_.emplace(Lid{static_cast<std::uint16_t>(lid)}, found);
  }
}

void LidOwners::know(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port) {
  keep(std::make_shared<OwnerAttributes>(OwnerAttributes{node, std::move(description), port.lid, port.lmc}));
}

void LidOwners::plan(const std::vector<Lid>& lids) {
  for (const Lid lid : lids) {
    if (!found_.contains(lid)) planned_.try_emplace(lid);
  }
}

async::Task<> LidOwners::read() {
  async::Loop& loop = co_await async::current_loop;
  end_ = loop.now() + longest;
  const auto find_one = [this](auto& planned) { return find_owner(planned.first, planned.second); };
  async::Task<> all = async::for_each(planned_, lids_at_once, find_one);
  co_await std::move(all);
  std::ranges::sort(unrequested_);
}

struct LidOwners::Overdue final : async::Timer {
  explicit Overdue(Planned& of) : planned(of) {}
  void expired() override { planned.passed.set(); }
  Planned& planned;
};

/// The nearest planned LID before `lid` that may be the base LID of the same port, or null.
LidOwners::Planned* LidOwners::parent(Lid lid) {
  for (unsigned value = lid.value; value % lids_of_largest_lmc != 0;) {
    value &= value - 1;  // without the lowest bit
    const auto at = planned_.find(Lid{static_cast<std::uint16_t>(value)});
    if (at != planned_.end()) return &at->second;
  }
  return nullptr;
}

async::Task<> LidOwners::find_owner(Lid lid, Planned& planned) {
  if (Planned* before = parent(lid)) co_await before->passed;
  async::Loop& loop = co_await async::current_loop;
  if (found_.contains(lid)) {
    // The port of an earlier LID has this LID too, by its LMC.
  } else if (loop.now() < *end_) {
    Overdue overdue(planned);
    loop.arm(overdue, loop.now() + longest_wait_for_base);
    co_await request_owner(lid);
  } else {
    unrequested_.push_back(lid);
  }
  planned.settled.set();
  planned.passed.set();
}

async::Task<> LidOwners::settled(Lid lid) {
  const auto at = planned_.find(lid);
  if (at != planned_.end()) co_await at->second.settled;
}

std::optional<LidOwner> LidOwners::find(Lid lid) const {
  const auto found = found_.find(lid);
  if (found == found_.end()) return std::nullopt;
  const OwnerAttributes& port = *found->second;
  return LidOwner{port.node.node_guid, port.node.port_guid, port.node.node_type, port.description, port.base, port.lmc};
}

}  // namespace ib::tools::tables
