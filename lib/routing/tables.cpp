// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/tables.hpp"

#include <iterator>
#include <numeric>
#include <ranges>
#include <utility>

#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::routing {

void LinearTables::set(SwitchIndex at, const subnet::LinearTable& table) {
  for (unsigned value = 0; value < blocks_ * per_block; ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (!table.exists(lid) || table.is_known(lid)) set_entry(at, lid, table.out_port(lid));
  }
}

void LinearTables::clear(SwitchIndex at, Lid first, Lid last) {
  const std::size_t end = std::min<std::size_t>(std::size_t{last.value} + 1, blocks_ * per_block);
  if (first.value >= end) return;
  const auto begin_of_ports = ports_.begin() + static_cast<std::ptrdiff_t>(at * blocks_ * per_block);
  std::fill(begin_of_ports + first.value, begin_of_ports + static_cast<std::ptrdiff_t>(end), no_entry);
  for (std::size_t block = first.value / per_block; block * per_block < end; ++block) {
    std::uint64_t bits = ~std::uint64_t{0};
    if (block * per_block < first.value) bits &= ~std::uint64_t{0} << first.value % per_block;
    if (end - block * per_block < per_block) bits &= (std::uint64_t{1} << end % per_block) - 1;
    known_[at * blocks_ + block] |= bits;
  }
}

void LinearTables::set_entry(SwitchIndex at, Lid lid, std::uint8_t port) {
  if (lid.value / per_block >= blocks_) return;
  ports_[at * blocks_ * per_block + lid.value] = port;
  known_[at * blocks_ + lid.value / per_block] |= std::uint64_t{1} << lid.value % per_block;
}

std::vector<ForwardingEntry> entries_of(const Network& network, const LinearTables& tables, SwitchIndex at) {
  std::vector<ForwardingEntry> found;
  for (unsigned value = 1; value <= tables.last().value && at != none; ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    const subnet::PortIndex owner = network.subnet().find_lid(lid);
    const EntryKind kind = tables.kind(at, lid, network.switches()[at].slots - 1U);
    if (owner != subnet::none && (kind == EntryKind::own_port || kind == EntryKind::port))
      found.push_back({lid, owner, tables.out_port(at, lid)});
  }
  return found;
}

bool has_unknown_lids(const Network& network, const LinearTables& tables, SwitchIndex at) {
  return std::ranges::any_of(std::views::iota(1U, tables.last().value + 1U), [&](unsigned value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    return tables.kind(at, lid, network.switches()[at].slots - 1U) == EntryKind::port && network.subnet().find_lid(lid) == subnet::none;
  });
}

void MulticastTables::add(SwitchIndex at, const subnet::MulticastTable& table) {
  known_[at] = table.complete();
  std::map<std::uint16_t, PortSet> sets;
  table.each_mask([&](Lid mlid, unsigned position, std::uint16_t mask) {
    each_bit(mask, [&](unsigned bit) { sets[mlid.value].add(position * 16 + bit); });
  });
  for (const auto& [mlid, ports] : sets) entries_.push_back({Lid{mlid}, at, ports});
}

void MulticastTables::finish() {
  const auto key = [](const MulticastEntry& entry) { return std::pair(entry.mlid, entry.at); };
  std::ranges::stable_sort(entries_, {}, key);
  std::vector<MulticastEntry> last;
  for (const MulticastEntry& entry : entries_) {
    if (!last.empty() && key(last.back()) == key(entry)) last.pop_back();
    last.push_back(entry);
  }
  std::erase_if(last, [](const MulticastEntry& entry) { return entry.ports.words == PortSet{}.words; });
  entries_ = std::move(last);
}

std::vector<Lid> MulticastTables::groups() const {
  std::vector<Lid> found;
  for (const MulticastEntry& entry : entries_) {
    if (found.empty() || found.back() != entry.mlid) found.push_back(entry.mlid);
  }
  return found;
}

void ServiceLevels::set(std::size_t sender, std::size_t destination, unsigned sl) {
  const std::size_t pair = destination * senders_ + sender;
  const unsigned shift = pair % 2 * 4;
  sls_[pair / 2] = static_cast<std::uint8_t>((sls_[pair / 2] & ~(0xfU << shift)) | sl << shift);
  known_[pair] = true;
}

void SlToVlTables::set(SwitchIndex at, unsigned slots, unsigned in, unsigned out, const std::array<std::uint8_t, sl_count>& vls) {
  OfSwitch& of = rows_of_[at];
  if (of.rows.empty()) {
    of.slots = slots;
    of.rows.resize(std::size_t{slots} * slots);
  }
  if (in >= of.slots || out >= of.slots) return;
  const auto [known, is_new] = known_.try_emplace(vls, static_cast<std::uint32_t>(rows_.size()));
  if (is_new) {
    LaneRow row{};
    std::ranges::copy(vls, row.begin());
    row[any_sl] = std::ranges::count(vls, vls[0]) == sl_count ? vls[0] : dropped_vl;
    rows_.push_back(row);
    for (const std::uint8_t vl : vls) {
      if (vl < dropped_vl) vl_count_ = std::max(vl_count_, vl + 1U);
    }
  }
  of.rows[std::size_t{in} * of.slots + out] = known->second + 1;
}

const LaneRow* SlToVlTables::find(SwitchIndex at, unsigned in, unsigned out) const {
  const OfSwitch& of = rows_of_[at];
  if (in >= of.slots || out >= of.slots) return nullptr;
  const std::uint32_t row = of.rows[std::size_t{in} * of.slots + out];
  return row == 0 ? nullptr : &rows_[row - 1];
}

AdaptiveRouting unread_adaptive_routing(const Network& network) {
  AdaptiveRouting found;
  std::ranges::transform(network.switches(), std::back_inserter(found), [&network](const Switch& at) {
    return subnet::is_mellanox(network.subnet().node(at.node).info) ? Adaptive::not_read : Adaptive::off;
  });
  return found;
}

namespace {

/// A switch that refuses the attribute has adaptive routing off.
async::Task<Adaptive> read_adaptive(mad::Transactor& transactor, const path::Path& path) {
  mad::Request request = mad::attribute_request(path, mlx::AdaptiveRoutingInfo::info(), mad::method::get);
  request.optional = true;
  const mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  const std::uint16_t status = reply ? 0 : reply.error().status();
  if (!reply) co_return status == 0 || status == mad::status::busy ? Adaptive::not_read : Adaptive::off;
  co_return mlx::AdaptiveRoutingInfo::unpack(reply->payload()).enabled != 0 ? Adaptive::on : Adaptive::off;
}

class TableReader {
 public:
  TableReader(const Network& network, TablesToRead to) : network_(network), to_(to) {}

  /// Called again for a switch that fell silent and came back: then only what is missing is read.
  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const subnet::Node& node = network_.subnet().node_of(port.index);
    const SwitchIndex at = network_.switch_of(network_.subnet().port(port.index).node);
    Open& open = open_[at];
    if (!open.info) {
      if (node.has_switch_info) {
        open.info = node.switch_info();
      } else {
        const mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
        if (!answer) co_return answer.shared_error();
        open.info = *answer;
      }
      if (to_.linear != nullptr) open.linear = subnet::LinearTable(*open.info);
      if (to_.multicast != nullptr) open.multicast = subnet::MulticastTable(*open.info, node.info.num_ports);
    }
    std::shared_ptr<const mad::MadError> error = co_await subnet::read_table(port.transactor, port.path, open.linear);
    const std::shared_ptr<const mad::MadError> of_groups = co_await subnet::read_table(port.transactor, port.path, open.multicast);
    if (!error) error = of_groups;
    if (to_.adaptive != nullptr && (*to_.adaptive)[at] == Adaptive::not_read) {
      (*to_.adaptive)[at] = co_await read_adaptive(port.transactor, port.path);
    }
    if (error) co_return error;
    keep(at, open);
    open_.erase(at);
    co_return true;
  }

  /// Keeps what came of tables that are not complete.
  void finish() {
    for (const auto& [at, open] : open_) {
      if (open.info) keep(at, open);
    }
  }

 private:
  struct Open {
    std::optional<smp::SwitchInfo> info;
    subnet::LinearTable linear;  // without entries, which is complete, where it is not wanted
    subnet::MulticastTable multicast;
  };

  void keep(SwitchIndex at, const Open& open) {
    if (to_.linear != nullptr) to_.linear->set(at, open.linear);
    if (to_.multicast != nullptr) to_.multicast->add(at, open.multicast);
  }

  const Network& network_;
  TablesToRead to_;
  std::map<SwitchIndex, Open> open_;  // a switch leaves it when all was read
};

}  // namespace

async::Task<subnet::Failures> read_tables(mad::Transactor& transactor, const Network& network, TablesToRead to, path::Path start) {
  subnet::SurveyOptions options(std::move(start), subnet::SurveyWay::smp);
  options.progress = to.progress;
  std::vector<subnet::PortIndex> ports;
  for (const SwitchIndex at : to.only.value_or(all_switches(network)))
    ports.push_back(network.subnet().node(network.switches()[at].node).first_port);
  TableReader reader(network, to);
  const subnet::SurveyQuestion<bool> question = [&reader](subnet::SurveyPort port) { return reader.read(port); };
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(transactor, network.subnet(), std::move(ports), std::move(options), question);
  reader.finish();
  co_return std::move(surveyed.failures);
}

std::vector<SwitchIndex> all_switches(const Network& network) {
  std::vector<SwitchIndex> all(network.switches().size());
  std::iota(all.begin(), all.end(), SwitchIndex{0});
  return all;
}

}  // namespace ib::routing
