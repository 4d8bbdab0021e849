// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/history.hpp"

#include <set>
#include <utility>

#include "subnet/diff/counterparts.hpp"

namespace ib::counters {
namespace {

/// Takes over details of `before` whose sum has not moved since: they have not, either.
void keep_details(CounterRow& row, const CounterRow& before) {
  for (std::size_t column = counter_columns; column < counter_columns + detail_columns; ++column) {
    if (row.is_known(column) || !before.is_known(column)) continue;
    const std::size_t sum = column_of(columns[column].source == Source::error_details ? "port_rcv_errors" : "port_xmit_discards");
    const bool stands_still = row.is_known(sum) && before.is_known(sum) && row.value(sum) == before.value(sum) && !row.is_full(sum);
    if (!stands_still) continue;
    row.known |= std::uint64_t{1} << column;
    row.details[column - counter_columns] = before.details[column - counter_columns];
  }
}

/// Removes nodes that `subnet` does not hold, and nodes of which several claim one GUID.
template <class T>
void keep_nodes(std::unordered_map<CounterKey, T, CounterKeyHash>& all, const subnet::Subnet& subnet) {
  std::set<Guid> crowds;  // of which `all` has several
  for (const auto& [key, value] : all) {
    if (key.twin != 0) crowds.insert(key.node);
  }
  std::erase_if(all, [&](const auto& entry) {
    const subnet::NodeIndex node = subnet.find_node(entry.first.node);
    return node == subnet::none || crowds.contains(entry.first.node) || !subnet::has_own_guid(subnet, node);
  });
}

}  // namespace

CounterKey counter_key(const subnet::Subnet& subnet, subnet::NodeIndex node, std::uint8_t select) {
  const Guid guid = subnet.node(node).guid();
  std::uint8_t twin = 0;
  for (subnet::NodeIndex at = subnet.find_node(guid); at != node && at != subnet::none && twin != CounterKey::not_kept;
       at = subnet.node(at).twin) {
    ++twin;
  }
  return {guid, twin, select};
}

std::optional<CounterRow> CounterHistory::take(const CounterKey& key, const CounterRow& row) {
  if (key.twin == CounterKey::not_kept) return std::nullopt;
  const auto [known, is_new] = rows_.try_emplace(key, row);
  if (is_new) return std::nullopt;
  const CounterRow before = std::exchange(known->second, row);
  keep_details(known->second, before);
  return before;
}

const CounterRow* CounterHistory::last(const CounterKey& key) const {
  const auto known = rows_.find(key);
  return known == rows_.end() ? nullptr : &known->second;
}

void CounterHistory::keep_nodes_of(const subnet::Subnet& subnet) { keep_nodes(rows_, subnet); }

std::optional<PmaSupport> KnownPmas::find(const subnet::Subnet& subnet, subnet::NodeIndex node) const {
  const auto known = supports_.find(counter_key(subnet, node, 0));
  return known == supports_.end() ? std::nullopt : std::optional(known->second);
}

void KnownPmas::add(const subnet::Subnet& subnet, subnet::NodeIndex node, const PmaSupport& support) {
  const CounterKey key = counter_key(subnet, node, 0);
  if (key.twin != CounterKey::not_kept) supports_[key] = support;
}

void KnownPmas::keep_nodes_of(const subnet::Subnet& subnet) { keep_nodes(supports_, subnet); }

}  // namespace ib::counters
