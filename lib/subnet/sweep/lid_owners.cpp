// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/lid_owners.hpp"

#include <algorithm>

#include "async/group.hpp"
#include "async/loop.hpp"
#include "base/escape.hpp"

namespace ib::subnet {
namespace {

/// More than the engine sends at once: most silent ones wait for their next try.
constexpr std::size_t lids_at_once = 1024;
constexpr unsigned lids_of_largest_lmc = 128;
constexpr std::chrono::milliseconds longest_wait_for_base{200};

}  // namespace

void visit(report::Sink& sink, const LidOwner* owner, const NodeNameMap& names) {
  const bool known = owner != nullptr;
  const LidOwner of = known ? *owner : LidOwner();
  sink.value_or_null("node_guid", known, of.node.node_guid);
  known ? sink.symbol("node_type", of.node.node_type, to_text(of.node.node_type)) : sink.no_symbol("node_type");
  sink.value("node_description", of.description);
  sink.text_or_null("node_name", known ? names.find(of.node.node_guid).value_or("") : "");
  sink.value_or_null("port_guid", known, of.node.port_guid);
  sink.value_or_null("lid", known, of.lid);
  sink.value_or_null("lmc", known, of.lmc);
}

std::optional<LidOwner> find_owner(const Subnet& subnet, Lid lid) {
  const PortIndex at = subnet.find_lid(lid);
  if (at == none) return std::nullopt;
  const Node& node = subnet.node_of(at);
  LidOwner to{node.info, {}, subnet.lid(at), subnet.lmc(at)};
  to.node.port_guid = subnet.end_port_guid(at);
  if (node.has_description) to.description = node.description();
  return to;
}

void LidOwners::know(const LidOwner& owner) {
  for (unsigned lid = owner.lid.value; lid < owner.lid.value + (1U << owner.lmc) && lid <= last_unicast_lid; ++lid) {
    found_.emplace(Lid{static_cast<std::uint16_t>(lid)}, owner);
  }
}

async::Task<> LidOwners::read() {
  async::Loop& loop = co_await async::current_loop;
  const async::Time end = loop.now() + longest;
  const auto read_planned = [this, end](auto& planned) { return read_one(planned.first, planned.second, end); };
  async::Task<> all = async::for_each(planned_, lids_at_once, read_planned);
  co_await std::move(all);
  std::ranges::sort(unrequested_);
}

async::Task<> LidOwners::settled(Lid lid) {
  const auto at = planned_.find(lid);
  if (at != planned_.end()) co_await at->second.settled;
}

async::Task<> LidOwners::read_one(Lid lid, Planned& planned, async::Time end) {
  struct Overdue final : async::Timer {
    explicit Overdue(Planned& of) : planned(of) {}
    void expired() override { planned.passed.set(); }
    Planned& planned;
  };
  if (Planned* before = parent(lid)) co_await before->passed;
  async::Loop& loop = co_await async::current_loop;
  if (found_.contains(lid)) {
    // The port of an earlier LID has this LID too, by its LMC.
  } else if (loop.now() < end) {
    Overdue overdue(planned);
    loop.arm(overdue, loop.now() + longest_wait_for_base);
    co_await request(lid);
  } else {
    unrequested_.push_back(lid);
  }
  planned.settled.set();
  planned.passed.set();
}

async::Task<> LidOwners::request(Lid lid) {
  path::IbPath to = like_;
  to.dlid = lid;
  const path::Path path = to;
  const auto is_silent = [this, lid](const auto& answer) {
    if (!answer) silent_[lid] = answer.shared_error();
    return !answer;
  };
  const mad::Result<smp::NodeDescription> description = co_await transactor_.try_subn_get<smp::NodeDescription>(path);
  if (is_silent(description)) co_return;
  const mad::Result<smp::PortInfo> port = co_await transactor_.try_subn_get<smp::PortInfo>(path);
  if (is_silent(port)) co_return;
  const mad::Result<smp::NodeInfo> node = co_await transactor_.try_subn_get<smp::NodeInfo>(path);
  if (is_silent(node)) co_return;
  const LidOwner owner{*node, std::string(fixed_text(description->node_string)), port->lid, port->lmc};
  found_.insert_or_assign(lid, owner);
  if (owner.owns(lid)) know(owner);
}

/// The nearest planned LID before `lid` that may be the base LID of the same port, or null.
LidOwners::Planned* LidOwners::parent(Lid lid) {
  for (unsigned value = lid.value; value % lids_of_largest_lmc != 0;) {
    value &= value - 1;  // without the lowest bit
    const auto at = planned_.find(Lid{static_cast<std::uint16_t>(value)});
    if (at != planned_.end()) return &at->second;
  }
  return nullptr;
}

}  // namespace ib::subnet
