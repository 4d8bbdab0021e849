// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/stored_failures.hpp"

#include <fmt/format.h>

#include <limits>
#include <tuple>

namespace ib::snapshot {
namespace {

template <class T>
bool fits(std::int64_t value) {
  return value >= 0 && value <= std::int64_t{std::numeric_limits<T>::max()};
}

}  // namespace

std::optional<AnswerKey> StoredFailures::find(const ByAgent& failures, const AnswerKey& key) {
  const auto found = failures.find(agent(key));
  return found == failures.end() ? std::nullopt : std::optional(found->second);
}

/// Reads the rows of a class that fulfil `conditions`, which may use ?2 for the attribute. They come in the order of their keys.
StoredFailures::ByAgent StoredFailures::read(std::string_view conditions, std::uint8_t mgmt_class, std::uint16_t attribute) {
  ByAgent failures;
  Statement row(database_, fmt::format("SELECT attribute, node, entry_port, modifier, selector FROM raw_answer WHERE mgmt_class=?1 AND {}",
                                       conditions));
  row.bind(1, mgmt_class).bind(2, attribute);
  std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t> before{-1, -1, -1, -1, -1};
  while (row.step()) {
    const std::tuple now(row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4));
    if (now <= before) break;  // without an order, a damaged file could lead in circles
    before = now;
    const auto [attribute_id, node, entry_port, modifier, selector] = now;
    const bool is_key = fits<std::uint16_t>(attribute_id) && fits<std::uint32_t>(node) && fits<std::uint8_t>(entry_port) &&
                        fits<std::uint32_t>(modifier) && fits<std::uint32_t>(selector);
    if (!is_key) continue;
    AnswerKey key;
    key.mgmt_class = mgmt_class;
    key.attribute = static_cast<std::uint16_t>(attribute_id);
    key.node = static_cast<subnet::NodeIndex>(node);
    key.entry_port = static_cast<std::uint8_t>(entry_port);
    key.modifier = static_cast<std::uint32_t>(modifier);
    key.selector = static_cast<std::uint32_t>(selector);
    failures.emplace(agent(key), key);
  }
  return failures;
}

std::optional<AnswerKey> StoredFailures::lack(const AnswerKey& key) {
  const std::pair of(key.mgmt_class, key.attribute);
  auto known = lacks_.find(of);
  // IBA 13.4.7: bad version, method not supported, method and attribute not supported.
  if (known == lacks_.end()) known = lacks_.emplace(of, read("attribute=?2 AND status IN (-1, 4, 8, 12)", of.first, of.second)).first;
  return find(known->second, key);
}

std::optional<AnswerKey> StoredFailures::unanswered(const AnswerKey& key) {
  auto known = silences_.find(key.mgmt_class);
  if (known == silences_.end()) known = silences_.emplace(key.mgmt_class, read("attribute>=?2 AND status=-1", key.mgmt_class, 0)).first;
  return find(known->second, key);
}

}  // namespace ib::snapshot
