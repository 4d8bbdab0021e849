// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/multicast_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ib::routing {

void MulticastTables::add(SwitchIndex at, const subnet::MulticastTable& table) {
  known_[at] = table.complete();
  std::map<std::uint16_t, PortSet> sets;
  table.each_mask([&](Lid mlid, unsigned position, std::uint16_t mask) {
    for (unsigned bit = 0; bit < 16; ++bit) {
      if ((mask >> bit & 1) != 0) sets[mlid.value].add(position * 16 + bit);
    }
  });
  for (const auto& [mlid, ports] : sets) entries_.push_back({Lid{mlid}, at, ports});
}

void MulticastTables::add(SwitchIndex at, Lid mlid, const PortSet& ports) {
  known_[at] = true;
  entries_.push_back({mlid, at, ports});
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

std::span<const MulticastEntry> MulticastTables::entries(Lid mlid) const {
  const auto [begin, end] = std::ranges::equal_range(entries_, mlid, {}, &MulticastEntry::mlid);
  return {begin, end};
}

}  // namespace ib::routing
