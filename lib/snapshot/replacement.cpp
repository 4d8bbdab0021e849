// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/replacement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {
namespace {

std::string nodes_text(std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

std::string kept_as(const std::string& file) { return fmt::format("it is kept as {}", in_quotes(file + '~')); }

}  // namespace

std::optional<std::string> why_old_is_kept(const std::string& file, const subnet::Subnet& seen) {
  if (!is_snapshot_file(file)) return std::nullopt;  // NewFile lets only an empty file, or none, be at this name then
  std::vector<Guid> old;
  try {
    old = Snapshot(file).node_guids();
  } catch (const UsageError& error) {
    return fmt::format("{}: {}", error.message(), kept_as(file));
  }
  const auto is_seen = [&seen](Guid guid) { return seen.find_node(guid) != subnet::none; };
  const auto common = static_cast<std::size_t>(std::ranges::count_if(old, is_seen));
  const std::string had = fmt::format("{} has {}", in_quotes(file), nodes_text(old.size()));
  constexpr std::string_view stays = "it is not replaced (--force replaces it)";
  if (!old.empty() && common == 0)
    throw Error(fmt::format("{}, none of which is among the {} of this fabric: {}", had, nodes_text(seen.nodes().size()), stays));
  if (common * 10 < old.size()) throw Error(fmt::format("{}, only {} of which were seen now: {}", had, common, stays));
  if (common * 2 < old.size()) return fmt::format("{}, only {} of which were seen now: {}", had, common, kept_as(file));
  return std::nullopt;
}

}  // namespace ib::snapshot
