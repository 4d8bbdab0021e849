// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/cache_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "snapshot/format.hpp"
#include "snapshot/parts.hpp"

namespace ib::snapshot {
namespace {

constexpr unsigned link_up = 5;  // IBA 14.2.5.6: PortPhysicalState

/// The difference between the host's port now and `then`, the port when the file was made; empty if there is none.
std::string_view difference(const sys::EndPort& then, const sys::EndPort& now) {
  if (then.device->node_guid != now.device->node_guid) return "another device";
  if (then.default_gid().guid() != now.default_gid().guid()) return "another port";
  if (then.default_gid().prefix() != now.default_gid().prefix()) return "a subnet of another prefix";
  if (then.lid != now.lid) return "a port with another LID";
  if (then.sm_lid != now.sm_lid) return "a subnet manager at another LID";
  return {};
}

/// Whether the sweep found no node besides its first one.
bool sees_only_itself(const subnet::Subnet& subnet) {
  const subnet::Port& start = subnet.port(subnet.start);
  if (start.number != 0) return start.peer == subnet::none;
  const auto ports = subnet.ports_of(subnet.node(start.node));
  return std::ranges::all_of(ports, [](const subnet::Port& port) { return port.peer == subnet::none; });
}

std::string nodes_text(std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

std::string kept_as(const std::string& file) { return fmt::format("it is kept as {}", in_quotes(file + '~')); }

}  // namespace

std::string why_unfit(Snapshot& snapshot, const subnet::SweptSubnet& fabric, const CacheTerms& terms) {
  const sys::DeviceList devices = snapshot.devices();
  const sys::EndPort& then = devices.select({}, std::to_string(snapshot.port_number()));
  if (const std::string_view other = difference(then, terms.port); !other.empty()) return fmt::format("it was read through {}", other);
  const std::optional<std::int64_t> ended = snapshot.number("ended");
  const std::int64_t age = stored_time(terms.now) - ended.value_or(0);
  if (!ended) return "it does not say how old it is";
  if (age < 0) return fmt::format("it is dated {}, in the future", time_of(snapshot));
  if (age > std::chrono::milliseconds(terms.age).count()) return fmt::format("it is dated {}", time_of(snapshot));
  if (then.phys_state != link_up || sees_only_itself(fabric.subnet)) return "it was read while this host had no link";
  if (terms.keys == Keys::shown && !snapshot.has_keys()) return "it was read without keys";
  if (terms.fdr10 && snapshot.fact("fdr10").empty() && !snapshot.has_part(name(Part::ports))) return "it was read without --fdr10";
  return {};
}

std::string not_replaced(const std::string& file, std::string_view why) {
  return fmt::format("{} was made by ibtool snapshot, and a cache does not replace it{}{}: only ibtool snapshot {} does", in_quotes(file),
                     why.empty() ? "" : "; ", why, escaped(file));
}

std::string why_not_replaced(Snapshot& snapshot, std::string_view why) {
  return snapshot.is_cache() ? std::string() : not_replaced(snapshot.file(), why);
}

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

std::string time_of(Snapshot& snapshot) {
  constexpr std::int64_t a_second = 1000, last = 253402300799;  // the year 9999
  const auto seconds = static_cast<std::time_t>(std::clamp<std::int64_t>(snapshot.number("ended").value_or(0) / a_second, 0, last));
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &local)};
}

}  // namespace ib::snapshot
