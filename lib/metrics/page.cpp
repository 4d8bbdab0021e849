// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/page.hpp"

#include <utility>

namespace ib::metrics {

bool is_in_shard(Guid guid, std::uint32_t shards, std::uint32_t shard) {
  // GUIDs of one maker differ in few bits. This spreads them (the finalizer of splitmix64).
  std::uint64_t hash = guid.value;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111eb;
  return (hash ^ hash >> 31U) % shards == shard;
}

Page::Page(const PageRules& rules, View view, PageWanted wanted)
    : rules_(rules), view_(std::move(view)), wanted_(wanted), exposition_(wanted.format, rules.labels) {}

bool Page::is_selected(const Family& family) const {
  if (family.items == Items::exporter && wanted_.shard != 0) return false;
  return family.selected_by == 0 || (family.selected_by & wanted_.selected) != 0;
}

void Page::write_item(const Family& family) {
  const ItemWriter to{view_, rules_.exported, family, item_of(view_, family.items, item_), exposition_};
  if (to.item.kind == Items::exporter || is_in_shard(to.guid(), wanted_.shards, wanted_.shard)) family.write(to);
}

bool Page::next(std::string& out, std::size_t size) {
  std::string& text = exposition_.buffer();
  while (text.size() < size && family_ < rules_.families.size()) {
    const Family& family = rules_.families[family_];
    if (!is_selected(family) || item_ == count(view_, family.items)) {
      ++family_, item_ = 0, has_begun_ = false;
      continue;
    }
    if (!std::exchange(has_begun_, true)) exposition_.begin(head_ = family.head());
    write_item(family);
    ++item_;
  }
  if (text.size() < size && !std::exchange(has_ended_, true)) exposition_.end();
  out.clear();
  out.swap(text);
  return !out.empty();
}

}  // namespace ib::metrics
